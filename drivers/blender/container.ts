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
/** The user `nobody` of every image. */
const USER = 65_534

/** Label of this installation. The sweep ignores containers of other installations on the same engine. */
export const nodeLabel = (dataDir: string): string =>
  createHash('sha256').update(`${hostname()}:${dataDir}`).digest('hex').slice(0, 16)

/**
 * Creates a container that can only compute: no network, no capabilities, a read-only root, and limits on processes,
 * memory, cores and disk. /job is an in-memory volume, because the engine's archive API transfers the files, and for a
 * container with a read-only root it serves only volumes.
 *
 * @param artifactBytes the maximum size of a file that it may write
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
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
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
        // The extra bytes make it possible to detect an artifact that is too large.
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

/** Ends a container with its processes and removes its volume; a missing one is no error. */
export async function removeContainer(docker: Docker, name: string): Promise<void> {
  await gone(() => docker.getContainer(name).remove({ force: true }))
  // The engine forgets a volume if its container ends during an upload, so the volume is removed explicitly.
  await gone(() => docker.getVolume(name).remove())
}

/** Removes an object with retries. */
async function gone(remove: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await remove()
      return
    } catch (error) {
      const { statusCode } = error as { statusCode?: number }
      if (statusCode === 404) return
      // 409 means that the removal is in progress or the object is still in use. Other errors may mean a busy engine.
      if (tries === 20) throw error
      await new Promise((done) => setTimeout(done, 250))
    }
  }
}

/** Removes the containers and volumes that dead processes of this installation left on the engine. */
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
