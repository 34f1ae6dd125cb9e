import { expect, test } from "vitest";
import { Fault } from "../faults/fault.ts";
import {
  attemptPrefix,
  dataKey,
  epochClaimKey,
  keepRecordKey,
  liesInOwnFolder,
  manifestKey,
  ownFolderOf,
  parseDataKey,
  parseProbeKey,
  probeKey,
} from "./keys.ts";
import { attemptId, filePath, runName } from "../base/names.ts";

const at = {
  run: runName.parse("llama"),
  epoch: 3,
  attempt: attemptId.parse("abcdef123456"),
  path: filePath.parse("sub/model.safetensors"),
};

test("a data key reads back as what it was made of", () => {
  const key = dataKey("team/", at);
  expect(key).toBe("team/runs/llama/e000003/abcdef123456/sub/model.safetensors");
  expect(parseDataKey("team/", key)).toEqual(at);
  expect(key.startsWith(attemptPrefix("team/", at))).toBe(true);
});

test("manifests and claims lie outside of what data keys can name", () => {
  const manifest = manifestKey("team/", { ...at, step: 500, checkpointId: "11111111-2222" });
  expect(manifest).toBe("team/manifests/llama/e000003/s000000000500-11111111-2222-abcdef123456.json");
  for (const key of [manifest, epochClaimKey("team/", at)]) expect(() => parseDataKey("team/", key)).toThrow(Fault);
});

test.each([
  "runs/llama/e000003/abcdef123456/model.bin",
  "team/runs/llama/e3/abcdef123456/model.bin",
  "team/runs/llama/e000003/abcdef123456/../../e000004/abcdef123456/model.bin",
  "team/runs/../manifests/e000003/abcdef123456/x",
  "team/runs/llama/e000003/ABC/model.bin",
  "team/runs/llama/e000003/abcdef123456/",
])("refuses the key %j", (key) => expect(() => parseDataKey("team/", key)).toThrow(Fault));

const probe = { nodeId: "11111111-aaaa", probeId: "22222222-bbbb" };

test("a probe key reads back as what it was made of, and is no data key", () => {
  const key = probeKey("team/", probe);
  expect(key).toBe("team/_tidemark/probe/11111111-aaaa/22222222-bbbb");
  expect(parseProbeKey("team/", key)).toEqual(probe);
  expect(() => parseDataKey("team/", key)).toThrow(Fault);
  expect(probeKey("", { ...probe, nodeId: null })).toBe("_tidemark/probe/22222222-bbbb");
});

test.each([
  "_tidemark/probe/11111111-aaaa/22222222-bbbb",
  "team/_tidemark/probe/22222222-bbbb",
  "team/_tidemark/probe/11111111-aaaa/22222222-bbbb/more",
  "team/_tidemark/probe/11111111-aaaa/",
  "team/_tidemark/probe/11111111-aaaa/../22222222-bbbb",
  "team/_tidemark/probe/../22222222-bbbb",
  "team/_tidemark/probe/11111111-aaaa/22222222-bbbb\n",
  "team/_tidemark/other/11111111-aaaa/22222222-bbbb",
])("%j is no probe key of a node", (key) => expect(parseProbeKey("team/", key)).toBeNull());

test("every key that Tidemark makes lies in one of its own folders, and no other does", () => {
  const of = { ...at, checkpointId: "11111111-2222" };
  const made = [
    dataKey("team/", at),
    manifestKey("team/", { ...of, step: 500 }),
    epochClaimKey("team/", at),
    keepRecordKey("team/", { ...of, id: "33333333-4444", kind: "pin" }),
    probeKey("team/", probe),
  ];
  expect(made.map((key) => ownFolderOf(["", "team/"], key))).toEqual(
    ["runs/", "manifests/", "epochs/", "keeping/", "_tidemark/"].map((folder) => ({ prefix: "team/", folder })),
  );
  expect(made.map((key) => ownFolderOf(["", "other/"], key))).toEqual([null, null, null, null, null]);
  expect(liesInOwnFolder(["team/"], "team/runs.txt")).toBe(false);
  expect(liesInOwnFolder(["team/"], "team/tidemark-check/1/small.bin")).toBe(true);
});
