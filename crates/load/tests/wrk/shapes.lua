-- A module beside the script.
local shapes = {}

function shapes.dress(path)
   return path .. "?dressed"
end

return shapes
