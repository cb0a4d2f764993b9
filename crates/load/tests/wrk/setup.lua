-- Threads get a number each, count for themselves, and are asked in the end.
local counter = 1
local threads = {}

function setup(thread)
   thread:set("id", counter)
   thread:set("seen", {first = {counter, "x"}, ok = true})
   table.insert(threads, thread)
   counter = counter + 1
end

function init(args)
   requests, responses = 0, 0
   assert(seen.first[1] == id and seen.ok and wrk.thread:get("id") == id)
end

function request()
   requests = requests + 1
   return wrk.request()
end

function response(status, headers, body)
   responses = responses + 1
end

function done(summary, latency, numbers)
   for index, thread in ipairs(threads) do
      local id = thread:get("id")
      print(("thread %d made %d requests and got %d responses"):format(id, thread:get("requests"), thread:get("responses")))
      assert(index == id and thread:get("nothing") == nil)
   end
   total = threads[1]:get("requests") + threads[2]:get("requests")
end
