import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tellLeft } from "./serve-slots.ts";
import { machineOf } from "./slot.ts";

it("names folders with captures that no worker of this start uploads", async () => {
  const state = await mkdtemp(join(tmpdir(), "tidemark-slots-"));
  try {
    for (const part of ["captures/a", "slot-1/captures/a", "slot-2/captures", "slot-3/captures/a"])
      await mkdir(join(state, part), { recursive: true });
    const said = async (folders: readonly string[]) => {
      const sentences: string[] = [];
      await tellLeft({ say: (text) => void sentences.push(String(text).split(" ")[0] ?? "") }, { state, folders });
      return sentences;
    };
    expect(await said(machineOf(state, 2).folders)).toEqual([state, join(state, "slot-3")]);
    expect(await said([state])).toEqual([join(state, "slot-1"), join(state, "slot-3")]);
    expect(await said([state, ...machineOf(state, 3).folders])).toEqual([]);
  } finally {
    await rm(state, { recursive: true, force: true });
  }
});
