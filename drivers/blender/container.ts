import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Container, ContainerCreateOptions, default as Docker } from 'dockerode'

export interface ContainerOptions {
  image: string
  command: string
  memoryBytes: number
  diskBytes: number
  processes: number
  threads: number
  readOnlyMounts: string[]
}

const NODE = 'gameyard.node'
const PID = 'gameyard.pid'
/** Nobody, in every image. */
const USER = 65_534

/** Names this installation, so that containers of others on the same engine are left alone. */
export const nodeLabel = (dataDir: string): string =>
  createHash('sha256').update(`${hostname()}:${dataDir}`).digest('hex').slice(0, 16)

/**
 * Creates a container that can only compute: no network, no capabilities, a read-only root, and limits on processes,
 * memory, cores and disk. /job is an in-memory volume, because files go in and out by the engine's archive API, which
 * serves only volumes of a container whose root is read-only.
 *
 * @param artifactBytes the largest file that it may write
 */
export function createContainer(
  docker: Docker,
  options: ContainerOptions,
  { name, node, program, artifactBytes }: { name: string; node: string; program: string[]; artifactBytes: number },
): Promise<Container> {
  const { image, memoryBytes, diskBytes, processes, threads, readOnlyMounts } = options
  const settings: ContainerCreateOptions = {
    name,
    Image: image,
    Entrypoint: program,
    Cmd: [],
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/tmp', 'LANG=C.UTF-8'],
    User: `${USER}:${USER}`,
    WorkingDir: '/job',
    Labels: { [NODE]: node, [PID]: String(process.pid) },
    ...{ OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: false },
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      IpcMode: 'private',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: processes,
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: threads * 1e9,
      ShmSize: 16 * 1024 ** 2,
      Tmpfs: { '/tmp': `rw,nosuid,nodev,size=${Math.floor(diskBytes / 2)},uid=${USER},gid=${USER},mode=1777` },
      Ulimits: [
        // Room to see that an artifact is too large.
        { Name: 'fsize', Soft: artifactBytes + 4096, Hard: artifactBytes + 4096 },
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 512, Hard: 512 },
      ],
      LogConfig: { Type: 'none', Config: {} },
      Mounts: [
        {
          Type: 'volume',
          Source: name,
          Target: '/job',
          VolumeOptions: {
            NoCopy: true,
            Labels: { [NODE]: node, [PID]: String(process.pid) },
            DriverConfig: {
              Name: 'local',
              Options: {
                type: 'tmpfs',
                device: 'tmpfs',
                o: `size=${diskBytes},uid=${USER},gid=${USER},mode=0755,nosuid,nodev`,
              },
            },
          },
        },
        ...readOnlyMounts.map((path) => ({ Type: 'bind' as const, Source: path, Target: path, ReadOnly: true })),
      ],
    },
  }
  return docker.createContainer(settings)
}

/** Ends a container and all in it, and its volume; what is gone already is no error. */
export async function removeContainer(docker: Docker, name: string): Promise<void> {
  await gone(() => docker.getContainer(name).remove({ force: true }))
  // By ourselves: the engine forgets a volume into which files are still being put when its container ends.
  await gone(() => docker.getVolume(name).remove())
}

/** Removes something, patiently. */
async function gone(remove: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await remove()
      return
    } catch (error) {
      const { statusCode } = error as { statusCode?: number }
      if (statusCode === 404) return
      // 409: it is being removed already, or is still in use. Anything else: the engine may be busy.
      if (tries === 20) throw error
      await new Promise((done) => setTimeout(done, 250))
    }
  }
}

/** Removes what processes of this installation that are no more left on the engine. */
export async function sweepContainers(docker: Docker, node: string, isAlive: (pid: number) => boolean): Promise<void> {
  const filters = { label: [`${NODE}=${node}`] }
  const containers = await docker.listContainers({ all: true, filters })
  const { Volumes } = await docker.listVolumes({ filters })
  const found = new Map<string, Record<string, string>>()
  for (const { Name, Labels } of Volumes ?? []) found.set(Name, Labels)
  for (const { Names, Labels } of containers) found.set((Names[0] ?? '').slice(1), Labels)
  for (const [name, labels] of found) {
    const pid = Number(labels[PID])
    if (pid === process.pid || !isAlive(pid)) await removeContainer(docker, name)
  }
}
