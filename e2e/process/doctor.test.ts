import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** `tidemark doctor` beside a worker that runs, as a person would call it on a node. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

interface Line {
  type: string;
  check?: string;
  outcome?: string;
  says?: string;
  fault?: { code: string } | null;
}

async function doctor(node: string) {
  const state = join(stage.dir, "nodes", node, "state");
  const { store } = stage;
  const args = ["doctor", `s3://${store.bucket}/doctor`, "--json", "--state", state, "--hub", stage.hub.url];
  const outcome = await runOnce(testedWorker(), args, {
    env: keysInEnv(store),
  });
  const lines: Line[] = outcome.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { ...outcome, lines, of: (check: string) => lines.find((line) => line.check === check) };
}

test("on a node whose worker runs everything is fine, and the worker is not disturbed", async () => {
  const worker = await stage.startNode({ name: "well" });
  const node = await waitUntil("the node is there", async () =>
    (await stage.client.nodes.list.query()).find(({ name }) => name === "well"),
  );
  const seen = await doctor("well");
  expect(seen, seen.stdout).toMatchObject({ code: 0, stderr: "" });
  expect(seen.of("state lock")?.says).toContain(`process ${worker.pid}`);
  expect(seen.of("hub protocol")?.outcome).toBe("ok");
  expect(seen.of("node credential")).toMatchObject({ outcome: "ok", says: expect.stringContaining("well") });
  expect(seen.of("native module")?.says).toContain("outlived its shell");
  expect(seen.lines.at(-1)).toMatchObject({ type: "examined", warnings: 0, failed: 0, skipped: 0 });
  const after = (await stage.client.nodes.list.query()).find(({ id }) => id === node.id);
  expect(after?.state).toBe(node.state);
});

test("on a node that was revoked it says so, with the exit code of that", async () => {
  const worker = await stage.startNode({ name: "gone" });
  const node = await waitUntil("the node is there", async () =>
    (await stage.client.nodes.list.query()).find(({ name }) => name === "gone"),
  );
  await worker.stop();
  await stage.client.nodes.revoke.mutate({ id: node.id });
  const seen = await doctor("gone");
  expect(seen.of("node credential")?.outcome).toBe("failed");
  expect(["NODE_REVOKED", "NODE_UNKNOWN"]).toContain(seen.of("node credential")?.fault?.code);
  expect(seen.code).toBe(FAULTS.NODE_REVOKED.exit);
});
