/**
 * Adds an ELF note to a 64-bit Linux program: named data that is mapped into memory when the program runs. Symbols and the
 * section table, which only debuggers read, are left out; they are a seventh of Node. Node's manual suggests `postject` for
 * this, but that is an alpha release of 2022 of five megabytes, which relocates parts of the program.
 */

const TYPE_LOAD = 1;
const TYPE_NOTE = 4;
const TYPE_PROGRAM_HEADERS = 6;
const READABLE = 4;
const PROGRAM_HEADER_BYTES = 56;
/** Largest page size of the processors that Node supports. */
const PAGE_BYTES = 0x1_0000;

interface Segment {
  type: number;
  flags: number;
  offset: number;
  address: number;
  fileBytes: number;
  memoryBytes: number;
  alignment: number;
}

const upTo = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

/** Returns the program with the note. @throws Error when `program` is no 64-bit ELF program. */
export function appendNote(program: Buffer, note: { name: string; content: Buffer }): Buffer {
  const segments = readSegments(program);
  const loaded = segments.filter(({ type }) => type === TYPE_LOAD);
  const [first] = loaded;
  if (first === undefined) throw new Error("no part of this program is loaded into memory");
  // Older kernels and loaders compute the address of the program headers from this offset, so all segments must share it.
  const distance = first.address - first.offset;
  const usedBytes = Math.max(...segments.map(({ offset, fileBytes }) => offset + fileBytes));
  const memoryEnd = Math.max(...loaded.map(({ address, memoryBytes }) => address + memoryBytes));
  const offset = upTo(Math.max(usedBytes, memoryEnd - distance), PAGE_BYTES);

  const tableBytes = (segments.length + 2) * PROGRAM_HEADER_BYTES;
  const written = noteOf(note);
  const noteAt = upTo(offset + tableBytes, 4);
  const place = (at: number, sizeBytes: number) => ({
    flags: READABLE,
    offset: at,
    address: at + distance,
    fileBytes: sizeBytes,
    memoryBytes: sizeBytes,
  });
  const end = noteAt + written.length;
  const table = segments
    .map((one) => (one.type === TYPE_PROGRAM_HEADERS ? { ...one, ...place(offset, tableBytes) } : one))
    .concat(
      { type: TYPE_LOAD, ...place(offset, end - offset), alignment: PAGE_BYTES },
      { type: TYPE_NOTE, ...place(noteAt, written.length), alignment: 4 },
    );

  const made = Buffer.alloc(end);
  program.copy(made, 0, 0, usedBytes);
  for (const [index, segment] of table.entries()) writeSegment(made, offset + index * PROGRAM_HEADER_BYTES, segment);
  written.copy(made, noteAt);
  made.writeBigUInt64LE(BigInt(offset), 32);
  made.writeUInt16LE(table.length, 56);
  // There is no section table: clears its offset, its number of entries, and the index of the names.
  made.writeBigUInt64LE(0n, 40);
  made.writeUInt16LE(0, 60);
  made.writeUInt16LE(0, 62);
  return made;
}

function noteOf({ name, content }: { name: string; content: Buffer }): Buffer {
  const nameBytes = Buffer.byteLength(name) + 1;
  const contentAt = 12 + upTo(nameBytes, 4);
  const made = Buffer.alloc(upTo(contentAt + content.length, 4));
  made.writeUInt32LE(nameBytes, 0);
  made.writeUInt32LE(content.length, 4);
  made.write(name, 12);
  content.copy(made, contentAt);
  return made;
}

function readSegments(program: Buffer): Segment[] {
  const isElf64 = program.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
  if (!isElf64 || program.readUInt16LE(54) !== PROGRAM_HEADER_BYTES) throw new Error("not a 64-bit Linux program");
  const table = Number(program.readBigUInt64LE(32));
  return Array.from({ length: program.readUInt16LE(56) }, (_, index) => {
    const at = table + index * PROGRAM_HEADER_BYTES;
    const long = (field: number) => Number(program.readBigUInt64LE(at + field));
    return {
      type: program.readUInt32LE(at),
      flags: program.readUInt32LE(at + 4),
      offset: long(8),
      address: long(16),
      fileBytes: long(32),
      memoryBytes: long(40),
      alignment: long(48),
    };
  });
}

function writeSegment(into: Buffer, at: number, segment: Segment): void {
  const { type, flags, offset, address, fileBytes, memoryBytes, alignment } = segment;
  into.writeUInt32LE(type, at);
  into.writeUInt32LE(flags, at + 4);
  for (const [index, value] of [offset, address, address, fileBytes, memoryBytes, alignment].entries()) {
    into.writeBigUInt64LE(BigInt(value), at + 8 + index * 8);
  }
}
