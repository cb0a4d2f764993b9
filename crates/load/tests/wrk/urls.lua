-- Paths from a file beside the script, which is an argument; what LuaJIT has and Luau lacks.
local shapes = require("shapes")
local paths = {}

function init(args)
   local file = assert(io.open(args[1], "r"))
   for line in file:lines() do
      if line ~= "" then
         table.insert(paths, line)
      end
   end
   file:close()
   assert(io.open(args[1] .. ".none") == nil)
   assert(table.getn(paths) == #paths and unpack({1, 2}) == 1 and math.pow(2, 3) == 8)
   assert(bit.band(0xff, 0x0f) == 15 and bit.bnot(0) == -1 and bit.lshift(1, 31) == -2147483648 and bit.tohex(255, 4) == "00ff")
   assert(type(os.time()) == "number" and os.date("%Y") ~= "" and os.clock() >= 0 and os.getenv("PATH") ~= nil)
   assert(loadstring("return 1 + 1")() == 2)
   math.randomseed(os.time())
end

local at = 0
function request()
   at = at % #paths + 1
   return wrk.format("GET", shapes.dress(paths[at]), {Accept = "*/*"})
end
