-- Three requests in one write.
init = function(args)
   local depth = tonumber(args[1]) or 3
   local all = {}
   for i = 1, depth do
      all[i] = wrk.format(i == 2 and "HEAD" or nil, "/?" .. i)
   end
   batch = table.concat(all)
end

request = function()
   return batch
end
