-- Another path and header for every request.
local n = 0

request = function()
   local path = "/item/" .. n
   wrk.headers["X-Counter"] = n
   n = n + 1
   return wrk.format(nil, path)
end
