import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { archiveObjects, GLACIER } from "../stage/archive-objects.ts";
import { serveOdd } from "../stage/odd-objects.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Objects that the store has moved to an archive, with a hub. */
let stage: Stage;
let isCold = (_key: string) => false;
let profileId: string;
let token: string;
let close: () => Promise<void>;
const written = new Map<number, string>();
const STEPS = [10, 20];

beforeAll(async () => {
  stage = await openStage();
  const odd = await serveOdd(
    stage.store,
    archiveObjects((key) => (isCold(key) ? GLACIER : null)),
  );
  ({ close } = odd);
  const store = { ...stage.store, endpoint: odd.endpoint };
  profileId = await addProfile(stage.client, { name: "cold", store });
  token = await addToken(stage.client, { profileId, maxUses: 10 });
  for (const step of STEPS) {
    const folder = stage.folderOf("trainer");
    mkdirSync(folder, { recursive: true });
    written.set(step, writeCheckpoint({ folder, step, modelBytes: 1_000_000, optimizerBytes: 300_000, loss: 1 }));
    const node = await stage.startNode({ name: "trainer", token, run: "llama", program: ["true"] });
    expect(await node.exited).toMatchObject({ code: 0 });
  }
});
afterAll(async () => {
  await close();
  await stage.close();
});

const goOn = async (name: string, flags: string[] = []) => {
  const node = await stage.startNode({
    name,
    token,
    run: "llama",
    flags,
    program: ["sh", "-c", 'echo "goes on at $TIDEMARK_RESUME_STEP"'],
  });
  return { ...(await node.exited), text: node.lines.join("\n") };
};

test("a program goes on from the newest checkpoint that can be read, and that is said; one that --from names is refused", async () => {
  const { files } = await stage.client.browserTransfers.folder.query({ profileId, prefix: "", cursor: null });
  const attempt = files.flatMap(({ path }) => /manifests\/llama\/\w+\/s0*20-.*-(\w+)\.json$/.exec(path)?.[1] ?? [])[0];
  expect(attempt).toBeDefined();
  isCold = (key) => key.endsWith(`/${attempt}/model.safetensors`);
  const chosen = await goOn("chosen", ["--from", "20"]);
  expect([chosen.code, chosen.text]).toEqual([4, expect.stringContaining("model.safetensors: The object is archived")]);
  expect(readdirSync(stage.folderOf("chosen"))).toEqual([]);
  const next = await goOn("next");
  expect([next.code, next.text]).toEqual([0, expect.stringContaining("goes on at 10")]);
  expect(next.text).toContain("Restoring step 10 of llama in place of 20. model.safetensors: The object is archived");
  expect(existsSync(join(stage.folderOf("next"), "checkpoint-20"))).toBe(false);
  expect(hashFolder(join(stage.folderOf("next"), "checkpoint-10"))).toEqual(hashFolder(written.get(10) ?? ""));
});
