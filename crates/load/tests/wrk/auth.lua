-- Asks for a token first, then sends it with every request.
local token

request = function()
   if not token then
      return wrk.format("GET", "/login")
   end
   return wrk.format("GET", "/private")
end

response = function(status, headers, body)
   if not token and status == 200 then
      token = headers["X-Token"]
      wrk.headers["X-Token"] = token
   end
end
