import { type ByteSource, malformed, tooMuch, wholeNumber } from "../source.ts";

/**
 * Reads one whole number of an HDF5 file, such as `optimizer/iterations` of Keras. Source: HDF5 File Format Specification 3.0, for
 * what h5py writes by default: superblock 0 or 1, object headers of version 1, groups as symbol tables. Nothing else of the file is
 * read. Each read is one of the source, which has its own limits.
 */

export const HDF5_MAGIC = "\u0089HDF\r\n\u001a\n";
/** Size of offsets and lengths. Other sizes come from 32-bit machines, on which no saver runs. */
const WORD_BYTES = 8;
const SUPERBLOCK_BYTES = 100;
/** Each of them is far above what a saver writes. */
const LIMITS = { messages: 256, blocks: 32, nodes: 512, depth: 8, entries: 1_024, headerBytes: 64 * 1024 } as const;
const MOST_NAME_BYTES = 256;
const MESSAGE = { dataspace: 0x01, datatype: 0x03, layout: 0x08, continuation: 0x10, symbolTable: 0x11 } as const;

interface Message {
  type: number;
  body: Buffer;
}

/** A file of which groups can be entered. Every method rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export interface Hdf5 {
  /** Returns the names in a group, with the addresses of their headers; none where it is no group. */
  list(header: number): Promise<ReadonlyMap<string, number>>;
  /** Returns the whole number that a dataset without dimensions holds; null where it holds something else. */
  number(header: number): Promise<number | null>;
  /** Address of the header of the outermost group. */
  readonly root: number;
}

/** Opens a file; null where it is none, or one of a later layout. Rejects as `Hdf5` does. */
export async function openHdf5(source: ByteSource): Promise<Hdf5 | null> {
  if (source.sizeBytes < SUPERBLOCK_BYTES) return null;
  const start = Buffer.from(await source.read(0, SUPERBLOCK_BYTES));
  const version = start[8] ?? 0;
  if (start.subarray(0, HDF5_MAGIC.length).toString("latin1") !== HDF5_MAGIC || version > 1) return null;
  if (start[13] !== WORD_BYTES || start[14] !== WORD_BYTES) return null;
  // Version 1 has a field of four bytes more before the addresses.
  const base = 24 + version * 4;
  const file = { source, baseAt: wordAt(start, base), nodes: 0 };
  return {
    root: wordAt(start, base + 4 * WORD_BYTES + WORD_BYTES),
    list: (header) => listGroup(file, header),
    number: (header) => readNumber(file, header),
  };
}

/** Returns the whole number at a path of names; null where nothing, or something else, is there. Rejects as `Hdf5` does. */
export async function numberAt(file: Hdf5, path: readonly string[]): Promise<number | null> {
  let header: number | undefined = file.root;
  for (const name of path) {
    header = (await file.list(header)).get(name);
    if (header === undefined) return null;
  }
  return file.number(header);
}

interface Reading {
  source: ByteSource;
  /** Offset of address 0 in the file. */
  baseAt: number;
  /** Nodes of groups that were read so far. */
  nodes: number;
}

const wordAt = (bytes: Buffer, at: number): number => {
  if (at + WORD_BYTES > bytes.length) throw malformed("it ends within an address");
  return wholeNumber(bytes.readBigUInt64LE(at), "an address");
};

async function readAt({ source, baseAt }: Reading, address: number, length: number): Promise<Buffer> {
  return Buffer.from(await source.read(wholeNumber(baseAt + address, "an address"), length));
}

/** Reads the messages of an object header, with those of its continuation blocks. */
async function messagesOf(file: Reading, header: number): Promise<Message[]> {
  const prefix = await readAt(file, header, 16);
  // Version 2 begins with `OHDR`.
  if (prefix[0] !== 1) return [];
  const blocks = [{ at: header + 16, length: prefix.readUInt32LE(8) }];
  const messages: Message[] = [];
  let taken = 0;
  for (let block = blocks[taken]; block !== undefined; block = blocks[++taken]) {
    if (taken >= LIMITS.blocks) throw tooMuch("an object header has very many parts");
    if (block.length > LIMITS.headerBytes) throw tooMuch(`an object header has ${block.length} bytes`);
    const bytes = await readAt(file, block.at, block.length);
    for (let at = 0; at + 8 <= bytes.length;) {
      const [type, size] = [bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
      const body = bytes.subarray(at + 8, at + 8 + size);
      if (body.length < size) throw malformed("a message reaches past its object header");
      if (messages.push({ type, body }) > LIMITS.messages) throw tooMuch("an object header has very many messages");
      if (type === MESSAGE.continuation) blocks.push({ at: wordAt(body, 0), length: wordAt(body, WORD_BYTES) });
      at += 8 + size;
    }
  }
  return messages;
}

const bodyOf = (messages: readonly Message[], type: number): Buffer | null =>
  messages.find((message) => message.type === type)?.body ?? null;

async function listGroup(file: Reading, header: number): Promise<ReadonlyMap<string, number>> {
  const names = new Map<string, number>();
  const table = bodyOf(await messagesOf(file, header), MESSAGE.symbolTable);
  if (table === null) return names;
  const heap = await readAt(file, wordAt(table, WORD_BYTES), 32);
  if (heap.toString("latin1", 0, 4) !== "HEAP") throw malformed("the names of a group are not where it says");
  const texts = { at: wordAt(heap, 24), length: wordAt(heap, WORD_BYTES) };
  await walkTree(file, { node: wordAt(table, 0), depth: 0 }, async (entries) => {
    for (const { nameAt, address } of entries) {
      if (names.size >= LIMITS.entries) throw tooMuch("a group has very many names");
      names.set(await readName(file, texts, nameAt), address);
    }
  });
  return names;
}

async function readName(file: Reading, texts: { at: number; length: number }, nameAt: number): Promise<string> {
  if (nameAt >= texts.length) throw malformed("a name lies past the names of its group");
  const bytes = await readAt(file, texts.at + nameAt, Math.min(MOST_NAME_BYTES, texts.length - nameAt));
  const end = bytes.indexOf(0);
  if (end === -1) throw malformed("a name has no end");
  return bytes.toString("utf8", 0, end);
}

interface Entry {
  nameAt: number;
  address: number;
}

/** Walks the tree of a group down to its lists of entries. A tree that leads into itself ends at a limit. */
async function walkTree(
  file: Reading,
  { node, depth }: { node: number; depth: number },
  onEntries: (entries: readonly Entry[]) => Promise<void>,
): Promise<void> {
  if (++file.nodes > LIMITS.nodes || depth > LIMITS.depth) throw tooMuch("its groups have very many nodes");
  const head = await readAt(file, node, WORD_BYTES);
  const signature = head.toString("latin1", 0, 4);
  if (signature === "SNOD") {
    const count = head.readUInt16LE(6);
    if (count > LIMITS.entries) throw tooMuch("a group has very many names");
    const bytes = await readAt(file, node + WORD_BYTES, count * ENTRY_BYTES);
    await onEntries(
      Array.from({ length: count }, (_, at) => ({
        nameAt: wordAt(bytes, at * ENTRY_BYTES),
        address: wordAt(bytes, at * ENTRY_BYTES + WORD_BYTES),
      })),
    );
    return;
  }
  if (signature !== "TREE" || head[4] !== 0) throw malformed("a group leads to what is no list of names");
  const count = head.readUInt16LE(6);
  if (count > LIMITS.entries) throw tooMuch("a group has very many nodes");
  // A key before each child: where its names begin. Two addresses of neighbors come first.
  const bytes = await readAt(file, node + 3 * WORD_BYTES, count * 2 * WORD_BYTES);
  for (let at = 0; at < count; at++)
    await walkTree(file, { node: wordAt(bytes, (at * 2 + 1) * WORD_BYTES), depth: depth + 1 }, onEntries);
}

const ENTRY_BYTES = 40;

async function readNumber(file: Reading, header: number): Promise<number | null> {
  const messages = await messagesOf(file, header);
  const [space, type, layout] = [MESSAGE.dataspace, MESSAGE.datatype, MESSAGE.layout].map((one) =>
    bodyOf(messages, one),
  );
  if (space == null || type == null || layout == null) return null;
  const sizeBytes = sizeOfInteger(type);
  // A dataspace of no dimension holds one value.
  if ((space[0] !== 1 && space[0] !== 2) || space[1] !== 0 || sizeBytes === null) return null;
  const bytes = await contentOf(file, layout, sizeBytes);
  if (bytes === null) return null;
  const value = sizeBytes === 8 ? Number(bytes.readBigInt64LE(0)) : bytes.readIntLE(0, sizeBytes);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Returns the bytes of an integer in little-endian order; null for another type. */
function sizeOfInteger(type: Buffer): number | null {
  if (type.length < 8 || ((type[0] ?? 0) & 0x0f) !== 0 || ((type[1] ?? 0) & 1) !== 0) return null;
  const sizeBytes = type.readUInt32LE(4);
  return sizeBytes === 4 || sizeBytes === 8 ? sizeBytes : null;
}

const LAYOUT = { compact: 0, contiguous: 1 } as const;

/** Returns the content of a dataset that lies in one piece; null for another layout, and where nothing was written. */
async function contentOf(file: Reading, layout: Buffer, sizeBytes: number): Promise<Buffer | null> {
  if (layout.length < 4 || (layout[0] !== 3 && layout[0] !== 4)) return null;
  if (layout[1] === LAYOUT.compact) {
    const bytes = layout.subarray(4, 4 + sizeBytes);
    return bytes.length === sizeBytes ? bytes : null;
  }
  if (layout[1] !== LAYOUT.contiguous || layout.length < 2 + 2 * WORD_BYTES) return null;
  // All ones: no space was allocated.
  if (layout.readBigUInt64LE(2) === 0xffff_ffff_ffff_ffffn || wordAt(layout, 2 + WORD_BYTES) < sizeBytes) return null;
  return readAt(file, wordAt(layout, 2), sizeBytes);
}
