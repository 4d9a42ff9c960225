"""What the runners and providers for tests share: arrays in files, misbehaviour, and the loop over requests."""
import array, json, os, re, signal, sys, time


def read_npy(path):
    """Shape and values of an array of float32."""
    with open(path, "rb") as file:
        raw = file.read()
    length = int.from_bytes(raw[8:10], "little")
    header = raw[10:10 + length].decode("latin1")
    shape = [int(d) for d in re.search(r"'shape': \(([^)]*)\)", header).group(1).split(",") if d.strip()]
    values = array.array("f")
    values.frombytes(raw[10 + length:])
    return shape, values


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % d for d in shape)
    header = header.ljust((len(header) + 11 + 63) // 64 * 64 - 11) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("latin1") + values.tobytes())


def misbehave(how):
    """Crashes, hangs and so on; returns True if the answer must be empty. None: behaves."""
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hang":
        time.sleep(1000)
    if how == "garbage":
        print("warming up...", flush=True)
    if how == "memory":
        block = bytearray(1 << 30)
        for i in range(0, len(block), 4096):
            block[i] = 1
        time.sleep(1000)
    if how == "error":
        raise RuntimeError("this program cannot do that")
    return how == "empty"


def serve(answer):
    """Answers requests, one JSON text a line, until the input ends or a request is to quit."""
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] == "quit":
                break
            result = {"ok": True, **answer(request)}
        except Exception as error:
            result = {"ok": False, "error": str(error)}
        print(json.dumps(result), flush=True)
