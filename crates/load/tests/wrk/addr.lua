-- Each thread gets one of the addresses of the host that answer.
local found, turn = nil, 0

function setup(thread)
   if found == nil then
      found = wrk.lookup(wrk.host, wrk.port or "http")
      for i = #found, 1, -1 do
         if not wrk.connect(found[i]) then
            table.remove(found, i)
         end
      end
   end
   turn = turn % #found + 1
   thread.addr = found[turn]
end

function init(args)
   where = string.format("to %s", tostring(wrk.thread.addr))
   print(("thread goes %s"):format(where))
end
