-- A form, posted.
wrk.method = "POST"
wrk.body = "name=value&other=%20"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
