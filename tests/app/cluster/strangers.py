"""Who has not the run's token does not come in, is counted, and does no harm.

Usage: strangers.py BUILD_FOLDER [TEST...]

LOCKSTEP_NOISE_MB says how much noise is sent; 64 where it is not set.
"""

import os
import socket
import subprocess
import threading

from cluster import Network, Run, main_of_tests, wait_for

NOISE_BYTES = int(os.environ.get("LOCKSTEP_NOISE_MB", "64")) << 20


def read_ticket(path):
    with open(path, encoding="ascii") as file:
        return dict(line.strip().split("=", 1) for line in file)


def address_of(recorder):
    host, port = recorder.removeprefix("tcp://").rsplit(":", 1)
    return host, int(port)


def listening(program, within=()):
    """Where the program's own process listens; `within` enters its network."""
    lines = subprocess.run([*within, "ss", "-H", "-l", "-t", "-n", "-p"], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return [line.split()[3] for line in lines if f"pid={program.process.pid}," in line]


class Tap:
    """A port that passes on what it gets to the recorder, and keeps what the relay has said."""

    def __init__(self, target):
        self.said = b""
        self.target = target
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        client, _ = self.server.accept()
        recorder = socket.create_connection(self.target)
        threading.Thread(target=self.copy, args=(recorder, client, False), daemon=True).start()
        self.copy(client, recorder, True)

    def copy(self, source, to, keep):
        try:
            while piece := source.recv(65536):
                if keep and len(self.said) < 1 << 16:
                    self.said += piece
                to.sendall(piece)
        except OSError:
            pass
        for end in (source, to):
            end.close()


def make_noise(address, total):
    """Sends so many bytes, in as many connections as that takes; returns their number."""
    noise = os.urandom(1 << 16)
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(47)  # begins as ZMTP does
    sent = connections = 0
    while sent < total:
        connections += 1
        try:
            with socket.create_connection(address, 5) as line:
                if connections % 2 == 0:
                    line.sendall(greeting)
                for _ in range(64):
                    line.sendall(noise)
                    sent += len(noise)
        except OSError:
            sent += len(noise)
    return connections


# So that no event is dropped for another reason than a stranger, however busy the machine.
PACE = """[[faults]]
kind = "delay"
rank = 0
every = 1
milliseconds = 10
"""


def test_strangers_are_refused_and_counted_and_the_run_goes_on(lockstep):
    with Run(lockstep, world=2, steps=1_000_000, more=PACE) as run:
        head = run.head("--launcher", "external", "--listen", "127.0.0.1")  # as the tap's address
        ticket = read_ticket(run.ticket())
        recorder = address_of(ticket["LOCKSTEP_RECORDER"])
        assert os.stat(run.ticket()).st_mode & 0o777 == 0o600
        tap = Tap(recorder)
        joined = run.join(0, arguments=["--recorder", f"tcp://127.0.0.1:{tap.port}"])
        wait_for("the first steps", lambda: run.steps() > 5)

        silent = socket.create_connection(recorder, 5)  # for longer than a handshake may take
        token = ticket["LOCKSTEP_RUN_TOKEN"]
        other = lambda hexes: "".join("%x" % (15 - int(digit, 16)) for digit in hexes)
        wrong_client, wrong_server = token[:64] + other(token[64:]), other(token[:64]) + token[64:]
        for wrong in (wrong_client, wrong_server):
            ended = subprocess.run([lockstep, "join", "--node-rank", "0", "--wait", "1"],
                                   env={**os.environ, **ticket, "LOCKSTEP_RUN_TOKEN": wrong},
                                   capture_output=True, text=True, timeout=30)
            assert ended.returncode == 7 and "token" in ended.stderr, ended
        for _ in range(2):  # all that a relay said, said again
            with socket.create_connection(recorder, 5) as replay:
                replay.settimeout(10)
                try:
                    replay.sendall(tap.said)
                    while replay.recv(65536):
                        pass
                except ConnectionError:
                    pass  # a rude way to be refused
        connections = make_noise(recorder, NOISE_BYTES)

        before = run.steps()
        wait_for("more steps", lambda: run.steps() > before + 5)
        silent.settimeout(15)
        while silent.recv(65536):  # it is shown the door, too
            pass
        stopped = subprocess.run([lockstep, "stop", run.file], env={
            **os.environ, "XDG_RUNTIME_DIR": run.folder}, capture_output=True, text=True)
        assert stopped.returncode == 0, stopped
        assert head.wait() == 130, head.text()
        assert joined.wait(10) == 130
        info = run.info()
        assert info["state"] == "stopped" and info["events_dropped"] == 0, info
        problems = [problem for problem in run.problems() if "refused" in problem]
        print(f"  {NOISE_BYTES >> 20} MB of noise in {connections} connections: {problems[-1]}")
        assert "with a wrong token" in problems[-1], problems
        assert "handshake sent again" in problems[-1], problems
        assert "did not speak its protocol" in problems[-1], problems
        total = int(problems[-1].split()[0].replace(",", ""))
        assert total >= connections + 4, problems
        assert not os.path.exists(os.path.join(run.folder, "lockstep",
                                               f"{info['run_id']}.token"))


def test_a_token_that_others_can_read_is_refused(lockstep):
    with Run(lockstep, world=2) as run:
        run.head("--launcher", "external")
        ticket = run.ticket()
        os.chmod(ticket, 0o644)
        joined = run.join(0)
        assert joined.wait() == 2
        assert "others can read this run token; take their rights away (chmod 600)" in \
            joined.text()


def test_mistakes_of_those_who_join_are_one_line(lockstep):
    with Run(lockstep, world=2) as run:
        head = run.head("--launcher", "external")
        joined = run.join(3)
        assert joined.wait() == 2
        assert joined.text().count("\n") == 1 and \
            "it comes for rank 6, and there are ranks 0 to 1" in joined.text(), joined.text()
        assert head.wait() == 2 and "it comes for rank 6" in head.text(), head.text()
    with Run(lockstep, world=2) as run:
        run.head("--launcher", "external")
        joined = run.start("join", [lockstep, "join", "--token-file", run.ticket()],
                           environment={"SLURM_PROCID": "5"})
        assert joined.wait() == 2 and "(the environment says so: SLURM_PROCID = 5)" in \
            joined.text(), joined.text()
    with Run(lockstep, world=2) as run:
        head = run.head("--launcher", "external", "--set", "launch.join_seconds=1")
        assert head.wait() == 7
        assert "no relay has come for ranks 0, 1 within 1 s (launch.join_seconds)" in \
            head.text(), head.text()


def test_the_head_listens_at_its_address_towards_the_other_hosts_alone(lockstep):
    with Network(["a", "b"]) as network, Run(lockstep, network.hosts[0], world=2) as run:
        host = network.hosts[0]
        head = run.head("--launcher", "external", "--nnodes", "2")
        run.ticket()
        own = listening(head, ["ip", "netns", "exec", host.namespace])
        assert [at.rsplit(":", 1)[0] for at in own] == [host.address] * 2, own


def test_the_launcher_local_opens_no_port_but_the_store_s_on_the_loopback(lockstep):
    with Run(lockstep, world=2, steps=1_000_000) as run:
        head = run.head()
        wait_for("the first steps", lambda: run.steps() > 5)
        own = listening(head)
        assert len(own) == 1 and own[0].startswith("127.0.0.1:"), own


if __name__ == "__main__":
    main_of_tests(globals())
