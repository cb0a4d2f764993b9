"""A relay between an agent and its NATS server: each direction has its delay, and connections may be broken now and then."""

import asyncio, random, threading, time


class Relay(threading.Thread):
    def __init__(self, listen, connect, to_server_s=0.0, to_agent_s=0.0, lives_s=None):
        super().__init__(daemon=True)
        self.listen, self.connect = listen, connect
        self.delays, self.lives_s = (to_server_s, to_agent_s), lives_s
        self.connections, self.chance = 0, random.Random(1)
        self.loop, self.ready = asyncio.new_event_loop(), threading.Event()
        self.start()
        self.ready.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve())

    async def serve(self):
        self.over = asyncio.Event()
        server = await asyncio.start_server(self.accepted, "127.0.0.1", self.listen)
        self.ready.set()
        await self.over.wait()
        server.close()

    def end(self):
        self.loop.call_soon_threadsafe(self.over.set)
        self.join()

    async def accepted(self, reader, writer):
        self.connections += 1
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.connect)
        except OSError:
            writer.close()
            return
        ways = [(reader, other_writer, self.delays[0]), (other_reader, writer, self.delays[1])]
        tasks = [asyncio.ensure_future(part) for way in ways for part in self.passing(*way)]
        limit = self.lives_s and self.chance.uniform(*self.lives_s)
        await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        # What was on its way is lost, as with a broken connection.
        for end in (writer, other_writer):
            end.transport.abort()

    def passing(self, reader, writer, delay):
        """Reads and writes apart, so that what follows closely is not held up twice."""
        queue = asyncio.Queue()

        async def read():
            while data := await reader.read(65536):
                queue.put_nowait((time.monotonic() + delay, data))

        async def write():
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(data)

        return read(), write()
