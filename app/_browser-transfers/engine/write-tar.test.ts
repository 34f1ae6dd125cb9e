import { expect, it } from "vitest";
import { listTar } from "#storage/testing/list-tar.ts";
import { tarBytes, writeTar, type TarEntry } from "./write-tar.ts";

const entry = (path: string, body: string): TarEntry => ({
  path,
  sizeBytes: Buffer.byteLength(body),
  modifiedAt: 1_700_000_000_000,
  bytes: async function* () {
    yield new Uint8Array(Buffer.from(body));
  },
});

async function whole(entries: TarEntry[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeTar(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

it("is read by the tar of the system, names of every length and script with their bytes", async () => {
  const long = `${"folder/".repeat(40)}${"name".repeat(30)}.bin`;
  const entries = [
    entry("a.txt", "tide"),
    entry("empty", ""),
    entry(`${"x".repeat(90)}/${"y".repeat(95)}`, "split"),
    entry(long, "long"),
    entry("水/ü.bin", "z".repeat(513)),
  ];
  const archive = await whole(entries);
  expect(archive.length).toBe(tarBytes(entries));
  expect(await listTar(archive)).toEqual(
    entries.map(({ path, sizeBytes }) => ({ path, sizeBytes })).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
  );
});

it("says sizes above eight GiB in an extended header", async () => {
  const huge = { path: "huge", sizeBytes: 9 * 1024 ** 3, modifiedAt: null };
  expect(tarBytes([huge])).toBe(3 * 512 + huge.sizeBytes + 1024);
});

it("does not go on behind a file that gave other bytes than it has", async () => {
  await expect(whole([{ ...entry("a", "tide"), sizeBytes: 5 }])).rejects.toThrow(RangeError);
});
