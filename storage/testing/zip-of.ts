/** Returns a zip file with one stored entry. `isLong`: sizes and offsets are in zip64 records. */
export function zipOf(name: string, content: Buffer, about = { isLong: false }): Buffer {
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50);
  central.writeUInt32LE(about.isLong ? 0xffffffff : content.length, 20);
  central.writeUInt32LE(about.isLong ? 0xffffffff : content.length, 24);
  central.writeUInt16LE(name.length, 28);
  const extra = Buffer.alloc(about.isLong ? 28 : 0);
  if (about.isLong) {
    extra.writeUInt16LE(1);
    extra.writeUInt16LE(24, 2);
    extra.writeBigUInt64LE(BigInt(content.length), 4);
    extra.writeBigUInt64LE(BigInt(content.length), 12);
    central.writeUInt16LE(extra.length, 30);
    central.writeUInt32LE(0xffffffff, 42);
  }
  const before = Buffer.concat([local, Buffer.from(name), content]);
  const directory = Buffer.concat([central, Buffer.from(name), extra]);
  const end64 = Buffer.alloc(about.isLong ? 56 : 0);
  const locator = Buffer.alloc(about.isLong ? 20 : 0);
  if (about.isLong) {
    end64.writeUInt32LE(0x06064b50);
    end64.writeBigUInt64LE(1n, 32);
    end64.writeBigUInt64LE(BigInt(directory.length), 40);
    end64.writeBigUInt64LE(BigInt(before.length), 48);
    locator.writeUInt32LE(0x07064b50);
    locator.writeBigUInt64LE(BigInt(before.length + directory.length), 8);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(about.isLong ? 0xffff : 1, 10);
  end.writeUInt32LE(about.isLong ? 0xffffffff : directory.length, 12);
  end.writeUInt32LE(about.isLong ? 0xffffffff : before.length, 16);
  return Buffer.concat([before, directory, end64, locator, end]);
}
