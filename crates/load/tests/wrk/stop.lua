-- Enough is enough.
local left = 3

function response()
   left = left - 1
   if left == 0 then
      wrk.thread:stop()
   end
end
