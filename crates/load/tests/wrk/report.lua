-- The figures as one line of CSV, which the test reads.
done = function(summary, latency, requests)
   local e = summary.errors
   io.write(string.format("%d,%d,%d,", summary.duration, summary.requests, summary.bytes))
   io.write(string.format("%d,%d,%d,%d,%d\n", e.connect, e.read, e.write, e.status, e.timeout))
   figures = {latency.min, latency.max, latency.mean, latency.stdev, requests.mean}
   for _, p in pairs({50, 90, 99, 99.999}) do
      figures[#figures + 1] = latency:percentile(p)
   end
   local total = 0
   for i = 1, #latency do
      local value, count = latency(i)
      total = total + count
   end
   -- Those that no answer came for have waited too.
   assert(total >= summary.requests, "every request has a latency")
   assert(figures[6] <= figures[7] and figures[7] <= latency.max)
end
