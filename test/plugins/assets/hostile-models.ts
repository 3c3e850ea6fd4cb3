// Malicious files, named by their defect.
import { deflateRawSync } from 'node:zlib'
import { amount } from '../../kit/extent.ts'
import { zip } from '../deploy/zip-writer.ts'

/** False values for the fields of a GLB. */
interface Lies {
  magic?: string
  version?: number
  length?: number
  jsonLength?: number
  jsonType?: number
  binLength?: number
}

/** Builds a GLB by section 4 of the specification, with false values on request. */
export function glb(json: unknown, bin: Buffer = Buffer.alloc(0), lies: Lies = {}): Buffer {
  const text = Buffer.isBuffer(json) ? json : Buffer.from(typeof json === 'string' ? json : JSON.stringify(json))
  const padding = Buffer.alloc((4 - (text.length % 4)) % 4, ' ')
  const head = Buffer.alloc(20)
  const binHead = Buffer.alloc(bin.length > 0 ? 8 : 0)
  const parts = [head, text, padding, binHead, bin]
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  head.write(lies.magic ?? 'glTF', 'latin1')
  head.writeUInt32LE(lies.version ?? 2, 4)
  head.writeUInt32LE(lies.length ?? length, 8)
  head.writeUInt32LE(lies.jsonLength ?? text.length + padding.length, 12)
  head.writeUInt32LE(lies.jsonType ?? 0x4e4f534a, 16)
  if (bin.length > 0) {
    binHead.writeUInt32LE(lies.binLength ?? bin.length, 0)
    binHead.writeUInt32LE(0x004e4942, 4)
  }
  return Buffer.concat(parts)
}

const asset = { version: '2.0' }
const bin = Buffer.alloc(48)
const buffers = [{ byteLength: 48 }]
const bufferViews = [{ buffer: 0, byteLength: 48 }]
const triangle = { meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }] }
const positions = { bufferView: 0, componentType: 5126, count: 4, type: 'VEC3', min: [0, 0, 0], max: [0, 0, 0] }

/** Builds a model of one triangle with parts of its JSON replaced. */
const model = (changes: object) =>
  glb({ asset, buffers, bufferViews, accessors: [positions], ...triangle, ...changes }, bin)

const chain = (length: number) =>
  Array.from({ length }, (_, index) => (index + 1 < length ? { children: [index + 1] } : {}))

const nested = (depth: number, open: string, close: string, core = '') =>
  `{"asset":{"version":"2.0"},"extras":${open.repeat(depth)}${core}${close.repeat(depth)}}`

/** Builds the start of a Draco mesh that declares more data than there is. */
const draco = (method: number) =>
  Buffer.concat([
    Buffer.from('DRACO\x02\x02\x01', 'latin1'),
    Buffer.from([method, 0, 0]),
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0x07, 0xff, 0xff, 0xff, 0xff, 0x07]),
    Buffer.alloc(67, 0xff),
  ])

const dracoModel = (method: number) => {
  const data = draco(method)
  const extension = { bufferView: 0, attributes: { POSITION: 0 } }
  const primitive = { attributes: { POSITION: 0 }, indices: 1, extensions: { KHR_draco_mesh_compression: extension } }
  const used = ['KHR_draco_mesh_compression']
  const json = {
    asset,
    extensionsUsed: used,
    extensionsRequired: used,
    buffers: [{ byteLength: data.length }],
    bufferViews: [{ buffer: 0, byteLength: data.length }],
    accessors: [
      { componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 1] },
      { componentType: 5123, count: 3, type: 'SCALAR' },
    ],
    meshes: [{ primitives: [primitive] }],
    nodes: [{ mesh: 0 }],
    scenes: [{ nodes: [0] }],
  }
  return glb(json, data)
}

const meshoptModel = (count: number) => {
  const compressed = { buffer: 0, byteLength: 48, byteStride: 12, count, mode: 'ATTRIBUTES' }
  const used = ['EXT_meshopt_compression']
  return model({
    extensionsUsed: used,
    extensionsRequired: used,
    buffers: [
      { byteLength: 48 },
      { byteLength: count * 12, extensions: { EXT_meshopt_compression: { fallback: true } } },
    ],
    bufferViews: [
      { buffer: 1, byteLength: count * 12, byteStride: 12, extensions: { EXT_meshopt_compression: compressed } },
    ],
    accessors: [{ ...positions, count }],
  })
}

/**
 * Returns malicious GLBs and files that only claim to be one. @param listener the address of a server that must never
 * get a request
 */
export function hostileModels(listener: string): Record<string, Buffer> {
  const image = (uri: string) => model({ images: [{ uri }], textures: [{ source: 0 }] })
  return {
    empty: Buffer.alloc(0),
    'only its first word': Buffer.from('glTF'),
    'a length of twice the file': glb({ asset }, bin, { length: 4096 }),
    'a length of half the file': glb({ asset }, bin, { length: 20 }),
    'a length of 4 GiB': glb({ asset }, bin, { length: 0xffffffff }),
    'a JSON chunk longer than the file': glb({ asset }, bin, { jsonLength: 0xfffffff0 }),
    'a JSON chunk that ends early': glb({ asset }, bin, { jsonLength: 8 }),
    'a binary chunk longer than the file': glb({ asset, buffers }, bin, { binLength: 0xfffffff0 }),
    'a first chunk that is not JSON': glb({ asset }, bin, { jsonType: 0x004e4942 }),
    'another version': glb({ asset }, bin, { version: 1 }),
    'a buffer view beyond its buffer': model({ bufferViews: [{ buffer: 0, byteOffset: 40, byteLength: 4000 }] }),
    'an accessor beyond its view': model({ accessors: [{ ...positions, count: 5000 }] }),
    'an accessor of two thousand million vertices': model({ accessors: [{ ...positions, count: 2 ** 31 }] }),
    'an accessor of as many, without a view': model({
      accessors: [{ ...positions, bufferView: undefined, count: 2 ** 31 }],
    }),
    'an accessor with half an element': model({ accessors: [{ ...positions, count: 1.5 }] }),
    'an accessor with less than nothing': model({ accessors: [{ ...positions, count: -3 }] }),
    'indices beyond the vertices': glb(
      {
        asset,
        buffers,
        bufferViews,
        accessors: [
          { ...positions, count: 3 },
          { bufferView: 0, byteOffset: 36, componentType: 5125, count: 3, type: 'SCALAR' },
        ],
        meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1 }] }],
      },
      Buffer.concat([bin.subarray(12), Buffer.alloc(12, 0xee)]),
    ),
    'no JSON': glb('{"asset":'),
    'JSON that is no UTF-8': glb(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
    'a list': glb('[]'),
    'lists that are none': glb({ asset, nodes: { length: 5 }, meshes: 7, accessors: 'x', buffers: null }),
    'entries that are none': glb({ asset, nodes: [null, 7, 'x'] }),
    'JSON five million lists deep': glb(nested(5_000_000, '[', ']')),
    'JSON a million objects deep': glb(nested(1_000_000, '{"a":', '}', '1')),
    'JSON with five million numbers': glb(`{"asset":{"version":"2.0"},"extras":[${'0,'.repeat(5_000_000)}0]}`),
    'JSON with as many empty objects': glb(`{"asset":{"version":"2.0"},"extras":[${'{},'.repeat(5_000_000)}{}]}`),
    'JSON larger than any': glb(Buffer.alloc(33 * 1024 * 1024, ' ')),
    'a million nodes': glb(`{"asset":{"version":"2.0"},"nodes":[${'{},'.repeat(999_999)}{}]}`),
    'nodes ten thousand deep': glb({ asset, nodes: chain(10_000), scenes: [{ nodes: [0] }] }),
    'nodes in a circle': glb({ asset, nodes: [{ children: [1] }, { children: [2] }, { children: [0] }] }),
    'a node that is its own child': glb({ asset, nodes: [{ children: [0] }], scenes: [{ nodes: [0] }] }),
    'a node with two parents': glb({ asset, nodes: [{ children: [2] }, { children: [2] }, {}] }),
    'a child that is not there': glb({ asset, nodes: [{ children: [7] }] }),
    'a buffer elsewhere': model({ buffers: [{ byteLength: 48, uri: `${listener}/buffer.bin` }] }),
    'a picture elsewhere': image(`${listener}/picture.png`),
    'a picture beside it': image('picture.png'),
    'a picture on the disk': image('file:///etc/passwd'),
    'a picture up the folders': image('../../../../etc/passwd'),
    'a requirement nobody knows': model({ extensionsUsed: ['EVIL_thing'], extensionsRequired: ['EVIL_thing'] }),
    'Draco that announces too much': dracoModel(0),
    'Draco that announces too much, otherwise': dracoModel(1),
    'meshopt that is no meshopt': meshoptModel(4),
    'meshopt that unpacks to gigabytes': meshoptModel(200_000_000),
    SVG: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    'SVG after white space': Buffer.from('\n \t<?xml version="1.0"?><svg onload="alert(1)"/>'),
    HTML: Buffer.from('<!doctype html><script>alert(1)</script>'),
    'a script': Buffer.from('#!/bin/sh\nrm -rf /\n'),
    'glTF as text': Buffer.from(JSON.stringify({ asset })),
    'a program': Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(64)]),
    'random bytes': Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919 + 13) & 0xff)),
  }
}

/** Returns malicious archives. @param good a valid file */
export function hostileArchives(good: Buffer): Record<string, Buffer> {
  const slip = (name: string) =>
    zip([
      { name: 'good.glb', bytes: good },
      { name, bytes: 'gotcha' },
    ])
  const zeroBytes = amount(80, 200) * 1024 * 1024
  const zeros = deflateRawSync(Buffer.alloc(zeroBytes))
  const kernel = deflateRawSync(Buffer.alloc(1024 * 1024))
  const half = zip([{ name: 'good.glb', bytes: good }])
  return {
    'up the folders': slip('../../../../tmp/gotcha'),
    'up in the middle': slip('a/../../gotcha'),
    absolute: slip('/etc/cron.d/gotcha'),
    'a drive letter': slip('C:/gotcha'),
    backslashes: slip('..\\..\\gotcha'),
    'a NUL in a name': slip('good.glb\0.png'),
    'a line break in a name': slip('go\nod.txt'),
    'a symbolic link': zip([{ name: 'link', bytes: '/etc/passwd', mode: 0o120777 }]),
    'a device': zip([{ name: 'null', mode: 0o020666 }]),
    'a name twice': zip([
      { name: 'a.txt', bytes: '1' },
      { name: 'a.txt', bytes: '2' },
    ]),
    'names that many disks take for one': zip([
      { name: 'A.txt', bytes: '1' },
      { name: 'a.txt', bytes: '2' },
    ]),
    encrypted: zip([{ name: 'a.txt', bytes: '1', flags: 0x801 }]),
    'a way of compressing nobody knows': zip([{ name: 'a.txt', bytes: '1', method: 99 }]),
    'a bomb': zip([{ name: 'zeros.bin', raw: zeros, says: { size: zeroBytes } }]),
    'a bomb that says it is small': zip([{ name: 'zeros.bin', raw: zeros, says: { size: 100 } }]),
    'a bomb in many files': zip(
      Array.from({ length: 400 }, (_, index) => ({ name: `${index}.bin`, raw: kernel, says: { size: 1024 * 1024 } })),
    ),
    'entries over each other': zip([
      { name: 'zeros.bin', raw: kernel, says: { size: 1024 * 1024 } },
      ...Array.from({ length: 50 }, (_, index) => ({
        name: `${index}.bin`,
        raw: Buffer.alloc(0),
        says: { size: 1024 * 1024, compressedSize: kernel.length, offset: 0 },
      })),
    ]),
    'a checksum that lies': zip([{ name: 'a.txt', bytes: '1', says: { crc: 7 } }]),
    'a size that lies': zip([{ name: 'a.txt', bytes: '1', method: 0, says: { size: 4000, compressedSize: 4000 } }]),
    'broken Deflate': zip([{ name: 'a.txt', raw: Buffer.alloc(100, 0xff), says: { size: 1000 } }]),
    'more entries than there are': zip([{ name: 'a.txt', bytes: '1' }], { entries: 65_535 }),
    'more entries than a pack has': zip(
      Array.from({ length: 9000 }, (_, index) => ({ name: `${index}.txt`, bytes: '' })),
    ),
    'no files': zip([]),
    'half of it': half.subarray(0, half.length / 2),
    'only its end': Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]),
    'a bad model among good ones': zip([
      { name: 'a/good.glb', bytes: good },
      { name: 'z/bad.glb', bytes: glb({ asset, nodes: chain(10_000) }) },
    ]),
  }
}
