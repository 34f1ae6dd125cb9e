import { beforeEach, expect, it } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { makeSafetensors } from "#storage/testing/plain-safetensors.ts";
import { announce, manifestOf, upload, type Staged, type StagedFile } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { endOf, epoch, profileId, test, writer, writerForEach } from "#server/testing/writer-for-each.ts";

writerForEach();

/** As text: every byte of it is below 128, the length of its header too. */
function shard(path: string, tensors: Record<string, string>): StagedFile {
  const rows = Object.entries(tensors).map(([name, text]) => ({
    name,
    dtype: "U8",
    shape: [text.length],
    bytes: Buffer.from(text),
  }));
  const file = makeSafetensors(rows);
  const header = file.subarray(8, Number(file.readBigUInt64LE()) + 8).toString();
  const [length, bytes] = header.length > 1024 ? ["\u0008", 2048] : ["\u0004", 1024];
  const data = rows.map((row) => row.bytes.toString()).join("");
  return { path, text: `\0${length}\0\0\0\0\0\0${header.padEnd(bytes)}${data}` };
}

const INDEX = {
  weight_map: { "embed.w": "a.safetensors", "layers.0.w": "a.safetensors", "layers.1.w": "b.safetensors" },
};
const FILES: StagedFile[] = [
  shard("a.safetensors", { "embed.w": "eeee", "layers.0.w": "00000000" }),
  shard("b.safetensors", { "layers.1.w": "11" }),
  { path: "model.safetensors.index.json", text: JSON.stringify(INDEX) },
  { path: "optimizer.pt", text: "PK" },
];

let node: TestNode;
let nodeId: string;
beforeEach(async () => {
  node = await addTestNode(test.hub, profileId, "gpu-1");
  ({ nodeId } = node);
});

async function makeComplete(files: StagedFile[], step = 600): Promise<Staged> {
  const staged = await announce(test.hub, writer, { epoch, step, files });
  const etags = await upload(test.hub, writer, staged);
  await callAs(test.hub, writer.caller).node.commit({ manifest: manifestOf(test.hub, writer, { staged, etags }) });
  return staged;
}

type Choice = { tensors: string[]; files?: string[] };
const plan = ({ checkpointId }: Staged, choice: Choice): Promise<RestorePlan> =>
  callAs(test.hub, "viewer").restores.plan({ checkpointId, nodeId: null, choice });
const start = ({ checkpointId }: Staged, choice: Choice) =>
  callAs(test.hub, "operator").restores.start({
    requestId: newId(),
    checkpointId,
    nodeIds: [nodeId],
    targetPath: "/data/some",
    choice,
  });
const refusal = async (staged: Staged, choice: Choice) => (await plan(staged, choice)).refusal;
const lengthOf = (path: string) => FILES.find((file) => file.path === path)?.text.length ?? 0;

it("counts tensors and what moves, and tells the node files and patterns", async () => {
  const staged = await makeComplete(FILES);
  const moves = lengthOf("a.safetensors") + lengthOf("model.safetensors.index.json");
  expect(await plan(staged, { tensors: ["embed.*"] })).toMatchObject({
    chosen: { files: 2, bytes: moves, tensors: { count: 1, bytes: 4 } },
    requests: 2,
    refusal: null,
  });
  expect((await plan(staged, { tensors: ["layers."] })).chosen).toMatchObject({
    files: 3,
    tensors: { count: 2, bytes: 10 },
  });
  const { restores } = await start(staged, { tensors: ["embed.*"] });
  const transferId = restores[0]?.transferId ?? "";
  const { body } = await test.hub.db.command.findFirstOrThrow({ where: { transferId } });
  expect(JSON.parse(body)).toMatchObject({
    kind: "restore",
    files: ["a.safetensors", "model.safetensors.index.json"],
    tensors: ["embed.*"],
  });
  const row = await test.hub.db.transfer.findUniqueOrThrow({ where: { id: transferId } });
  expect([row.filesTotal, Number(row.bytesTotal)]).toEqual([2, moves]);
  const events = await callAs(test.hub, "viewer").events.list({ nodeId, run: null, cursor: null, limit: 5 });
  expect(JSON.stringify(events)).toContain("restores 1 tensor of step 600 of llama to /data/some");
});

it("of files that are named only these are looked into", async () => {
  const staged = await makeComplete(FILES);
  expect((await plan(staged, { tensors: ["*"], files: ["b.safetensors"] })).chosen).toEqual({
    files: 1,
    bytes: lengthOf("b.safetensors"),
    tensors: { count: 1, bytes: 2 },
  });
  expect(await refusal(staged, { tensors: ["embed.*"], files: ["b.safetensors"] })).toMatchObject({
    code: "NOT_FOUND",
  });
  expect(await refusal(staged, { tensors: ["*"], files: ["c.safetensors"] })).toMatchObject({
    code: "NOT_FOUND",
    subject: "c.safetensors",
  });
});

it("what no tensor fits, and what is no safetensors file, is refused with what there is to do", async () => {
  const staged = await makeComplete(FILES);
  expect(await refusal(staged, { tensors: ["embed.*", "norm.*"] })).toMatchObject({
    code: "NOT_FOUND",
    subject: "norm.*",
    detail: "no tensor fits it; there are embed.w, layers.0.w, layers.1.w and others",
  });
  expect(await refusal(staged, { tensors: ["*"], files: ["optimizer.pt"] })).toMatchObject({
    code: "BAD_INPUT",
    subject: "optimizer.pt",
    detail: expect.stringContaining("PyTorch file"),
  });
  await expect(start(staged, { tensors: ["norm.*"] })).rejects.toEqual(fault("NOT_FOUND"));
  await expect(start(staged, { tensors: ["a{b"] })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  expect(await test.hub.db.transfer.count({ where: { direction: "download" } })).toBe(0);
});

it("a header that lies, or is none, is said of its file and starts nothing", async () => {
  const good = shard("a.safetensors", { x: "aaaa", y: "bbbb" });
  const hostile: [string, string][] = [
    [good.text.replace("[4,8]", "[2,6]"), "overlap"],
    [good.text.replace("\u0004", "\u007f"), "cut short"],
    [`\0\0\0\0\0\0\0\u007f${good.text.slice(8)}`, "allows 100 MB"],
    [shard("a.safetensors", { ["n".repeat(1_100)]: "x" }).text, "name of 1100"],
  ];
  for (const [index, [text, detail]] of hostile.entries()) {
    const staged = await makeComplete([{ path: "a.safetensors", text }], 700 + index);
    expect(await refusal(staged, { tensors: ["*"] })).toMatchObject({
      code: "MALFORMED",
      subject: "a.safetensors",
      detail: expect.stringContaining(detail),
    });
    await expect(start(staged, { tensors: ["*"] })).rejects.toEqual(fault("MALFORMED"));
  }
});

it("falls back to the same tensors of the step before", async () => {
  await makeComplete(FILES, 800);
  const staged = await makeComplete(FILES, 900);
  const { restores } = await callAs(test.hub, "operator").restores.start({
    requestId: newId(),
    checkpointId: staged.checkpointId,
    nodeIds: [nodeId],
    targetPath: "/data/some",
    choice: { tensors: ["embed.*"] },
    mayFallBack: true,
  });
  const transferId = restores[0]?.transferId ?? "";
  const damage = {
    ranges: [{ path: filePath.parse("a.safetensors"), from: 0, to: 1, fault: { code: "CHECKSUM_MISMATCH" as const } }],
    more: 0,
  };
  const ended = endOf(staged, { seq: 1, transferId, direction: "download" });
  const failed = { ...ended, state: "failed" as const, fault: { code: "CHECKSUM_MISMATCH" as const }, damage };
  await callAs(test.hub, node.caller).node.record({ events: [failed] });
  const again = await test.hub.db.queuedRestore.findUniqueOrThrow({ where: { requestId: `after ${transferId}` } });
  expect(JSON.parse(again.body)).toMatchObject({
    step: 800,
    tensors: ["embed.*"],
    files: ["a.safetensors", "model.safetensors.index.json"],
  });
});
