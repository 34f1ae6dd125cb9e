import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readIdentity } from "#worker/base/identity.ts";
import { openFileSource } from "./send-source.ts";

test("a file that was removed after it was listed is told as that, not as a fault of the disk", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-source-"));
  const path = join(folder, "rotated.log");
  await writeFile(path, "x");
  const identity = await readIdentity(path);
  await rm(folder, { recursive: true });
  await expect(openFileSource({ path, identity })).rejects.toMatchObject({
    code: "READ_FAILED",
    context: { subject: path, detail: "it was removed before it was sent" },
  });
});
