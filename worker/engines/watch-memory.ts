import { readFile } from "node:fs/promises";

/** Returns the resident bytes of a process and all its descendants, from /proc; null where the system has no /proc. */
export async function memoryOfTree(pid: number): Promise<number | null> {
  const own = await residentBytes(pid);
  if (own === null) return null;
  let sum = own;
  for (const child of await childrenOf(pid)) sum += (await memoryOfTree(child)) ?? 0;
  return sum;
}

async function residentBytes(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => null);
  const kib = text === null ? undefined : /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}
