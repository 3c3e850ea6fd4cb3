/** Programs that the conformance suite runs inside Blender. The last two arguments are the input and output folders. */

const START = `
import json, os, sys, time, socket
INPUT, OUTPUT = sys.argv[sys.argv.index('--') + 1:][:2]
def tell(name, value):
    with open(os.path.join(OUTPUT, name), 'w') as file:
        json.dump(value, file)
def attempt(work):
    try:
        return ['done', work()]
    except BaseException as error:
        return ['refused', type(error).__name__ + ': ' + str(error)[:200]]
`

/** A run that obeys the rules. */
export const HONEST = `${START}
import bpy
print('first line', flush=True)
with open(os.path.join(INPUT, 'data', 'note.txt')) as file:
    tell('note.json', {'note': file.read(), 'version': bpy.app.version_string, 'big': os.path.getsize(os.path.join(INPUT, 'big.bin'))})
with open(os.path.join(OUTPUT, 'unasked.txt'), 'w') as file:
    file.write('nobody takes this out')
print('last line', flush=True)
`

/**
 * Tries to access everything that should be out of reach, and reports the results. `targets.json` lists the targets.
 */
export const PROBE = `${START}
with open(os.path.join(INPUT, 'targets.json')) as file:
    targets = json.load(file)
def read(path):
    with open(path, 'rb') as file:
        return file.read(4096).decode('latin-1')
def connect(family, address):
    client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(2)
    client.connect(address)
    client.sendall(b'out')
def search():
    """Every file that can be read, apart from programs and libraries, for the secret."""
    found = []
    for top, folders, files in os.walk('/'):
        folders[:] = [name for name in folders if os.path.join(top, name) not in ('/usr', '/proc', '/sys', '/lib', '/lib64', '/bin', '/sbin')]
        for name in files:
            path = os.path.join(top, name)
            try:
                if not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
                    continue
                if targets['secret'] in read(path) and not path.startswith(INPUT):
                    found.append(path)
            except OSError:
                pass
    return found
def environments():
    seen = ''
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                seen += read('/proc/' + name + '/environ')
            except OSError:
                pass
    return seen
def udp(family, address):
    sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.settimeout(1)
    sender.connect(address)
    sender.send(bytes.fromhex('abcd01000001000000000000076578616d706c65036f72670000010001'))
    sender.recv(512)
def write(path):
    with open(path, 'w') as file:
        file.write('was here')
results = {
    'host file': attempt(lambda: read(targets['file'])),
    'host file by link': attempt(lambda: (os.symlink(targets['file'], os.path.join(OUTPUT, 'link')), read(os.path.join(OUTPUT, 'link')))),
    'through the first process': attempt(lambda: read('/proc/1/root' + targets['file'])),
    'ipv4': attempt(lambda: connect(socket.AF_INET, ('127.0.0.1', targets['port']))),
    'ipv6': attempt(lambda: connect(socket.AF_INET6, ('::1', targets['port']))),
    'outside': attempt(lambda: connect(socket.AF_INET, (targets['address'], targets['port']))),
    'unix': attempt(lambda: connect(socket.AF_UNIX, targets['socket'])),
    'abstract': attempt(lambda: connect(socket.AF_UNIX, '\\0' + targets['abstract'])),
    'dns': attempt(lambda: socket.getaddrinfo('example.org', 80)),
    'dns by hand': attempt(lambda: udp(socket.AF_INET, ('1.1.1.1', 53))),
    'write to the root': attempt(lambda: write('/here')),
    'write to programs': attempt(lambda: write('/usr/bin/here')),
    'write to devices': attempt(lambda: write('/dev/here')),
    'write to the kernel': attempt(lambda: write('/proc/sys/kernel/core_pattern')),
    'mount': attempt(lambda: 1 / int(os.system('mount -t tmpfs none /tmp >/dev/null 2>&1') == 0)),
    'a namespace of its own': attempt(lambda: 1 / int(os.system('unshare -Ur true >/dev/null 2>&1') == 0)),
    'a device': attempt(lambda: os.mknod(os.path.join(OUTPUT, 'device'), 0o60666, os.makedev(8, 0))),
    'signal the server': attempt(lambda: os.kill(targets['pid'], 9)),
}
tell('probe.json', {
    'results': results,
    'secrets': search(),
    'environment': dict(os.environ),
    'environments': environments(),
    'processes': sorted(int(name) for name in os.listdir('/proc') if name.isdigit()),
    'interfaces': [name for _, name in socket.if_nameindex()],
    'user': os.getuid(),
})
`

/** A concurrent run that has a secret and stays for a while. */
export const NEIGHBOUR = `${START}
with open(os.path.join(OUTPUT, 'mine.txt'), 'w') as file:
    file.write(open(os.path.join(INPUT, 'secret.txt')).read())
with open('/tmp/mine.txt', 'w') as file:
    file.write(open(os.path.join(INPUT, 'secret.txt')).read())
print('ready', flush=True)
time.sleep(60)
`

/** Forks as long as possible; the children stay. */
export const FORK_BOMB = `${START}
count = 0
try:
    while count < 5000:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        count += 1
except OSError:
    pass
tell('count.json', count)
`

/** Allocates 32 GB: first in one process, then in several. */
export const MEMORY = `${START}
first = attempt(lambda: len(bytearray(32 << 30)))
tell('memory.json', first)
children = 0
while children < 16:
    try:
        if os.fork() == 0:
            kept = []
            while True:
                try:
                    kept.append(bytearray(os.urandom(1 << 20)) * 16)
                except MemoryError:
                    time.sleep(0.1)
        children += 1
    except OSError:
        break
time.sleep(600)
`

/** Fills every writable place. */
export const DISK = `${START}
def fill(folder):
    written, chunk = 0, bytes(1 << 20)
    try:
        for number in range(100000):
            with open(os.path.join(folder, 'fill' + str(number)), 'wb') as file:
                for _ in range(16):
                    file.write(chunk)
                    written += len(chunk)
    except OSError as error:
        return [written, error.errno]
    return [written, 0]
results = {folder: fill(folder) for folder in (OUTPUT, '/tmp', '/dev/shm')}
for folder in results:
    for name in os.listdir(folder):
        if name.startswith('fill'):
            os.remove(os.path.join(folder, name))
tell('disk.json', results)
`

/** Does not end: ignores signals where possible, leaves daemons behind, and sleeps. */
export const STUBBORN = `${START}
import signal, subprocess
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(600)
    os._exit(0)
subprocess.Popen(['sleep', '600'], start_new_session=True)
print('asleep', flush=True)
while True:
    time.sleep(600)
`

/** Ends successfully, and leaves daemons that continue to write into an artifact. */
export const DAEMON = `${START}
tell('result.json', 'written by the run')
if os.fork() == 0:
    os.setsid()
    for descriptor in range(0, 64):
        try:
            os.close(descriptor)
        except OSError:
            pass
    while True:
        with open(os.path.join(OUTPUT, 'result.json'), 'w') as file:
            file.write('written by the daemon')
        time.sleep(0.001)
`

export const CHATTER = `
import os
line = b'x' * 65535 + b'\\n'
for _ in range(16384):
    os.write(1, line)
`

/** Kills every process that it can, its own supervisor first. */
export const KILLER = `${START}
import signal
for pid in (1, os.getppid()):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
time.sleep(1)
os.kill(-1, signal.SIGKILL)
`

/** Creates artifacts that are not ordinary files. */
export const oddArtifact = (
  kind: 'symlink' | 'device link' | 'fifo' | 'socket' | 'folder' | 'large',
): string => `${START}
path = os.path.join(OUTPUT, 'odd.bin')
${
  {
    symlink: "os.symlink('/etc/passwd', path)",
    'device link': "os.symlink('/dev/zero', path)",
    fifo: 'os.mkfifo(path)',
    socket: 'socket.socket(socket.AF_UNIX).bind(path)',
    folder: 'os.mkdir(path)',
    large: `
written = 0
try:
    with open(path, 'wb') as file:
        for _ in range(2048):
            file.write(bytes(1 << 20))
            written += 1 << 20
except OSError:
    pass`,
  }[kind]
}
`
