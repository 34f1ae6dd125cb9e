import { zipOf } from "./zip-of.ts";

/** Values that a training loop saves beside its tensors. */
export type SavedState = Readonly<Record<string, number | null>>;

/** Returns a file as `torch.save` writes it for a dictionary of these numbers, without tensors. */
export function torchFile(state: SavedState): Buffer {
  const entries = Object.entries(state).map(([name, value]) => Buffer.concat([text(name), number(value)]));
  const pickle = Buffer.concat([Buffer.from([0x80, 2]), Buffer.from("}("), ...entries, Buffer.from("u.")]);
  return zipOf("archive/data.pkl", pickle);
}

/** Encodes a text with the opcode BINUNICODE. */
function text(name: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(name));
  return Buffer.concat([Buffer.from("X"), length, Buffer.from(name)]);
}

/** Encodes a number (BININT) or NONE. */
function number(value: number | null): Buffer {
  if (value === null) return Buffer.from("N");
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return Buffer.concat([Buffer.from("J"), bytes]);
}
