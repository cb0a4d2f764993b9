-- Users who think between their requests.
function delay()
   return math.random(10, 50)
end
