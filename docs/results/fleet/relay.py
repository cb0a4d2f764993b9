"""A relay between an agent and its NATS server: each direction has its delay, connections may be broken now and then, and single messages
lost or doubled."""

import asyncio, random, threading, time


class Relay(threading.Thread):
    def __init__(self, listen, connect, to_server_s=0.0, to_agent_s=0.0, lives_s=None, lost=0.0, doubled=0.0):
        super().__init__(daemon=True)
        self.listen, self.connect = listen, connect
        self.delays, self.lives_s = (to_server_s, to_agent_s), lives_s
        self.shares, self.lost, self.doubled = (lost, doubled), 0, 0
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
            while data := await (self.whole(reader) if any(self.shares) else reader.read(65536)):
                queue.put_nowait((time.monotonic() + delay, data))

        async def write():
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(data)

        return read(), write()

    async def whole(self, reader):
        """One line of NATS's protocol with its payload, or two of the same, or the next one in its place. None at the end."""
        try:
            while line := await reader.readuntil(b"\r\n"):
                words = line.split()
                if not words or words[0].upper() not in (b"PUB", b"HPUB", b"MSG", b"HMSG"):
                    return line
                line += await reader.readexactly(int(words[-1]) + 2)
                drawn = self.chance.random()
                if drawn >= sum(self.shares):
                    return line
                if drawn >= self.shares[0]:
                    self.doubled += 1
                    return line * 2
                self.lost += 1
        except asyncio.IncompleteReadError:
            return None
