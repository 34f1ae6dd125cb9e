import { describe, expect, it } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { newId } from "#server/platform/random-id.ts";
import { announce, keyOf, makeSafe, manifestOf, newAttempt, putOf, upload } from "#server/testing/stage-checkpoint.ts";
import { claim, node, other, test, pairForEach } from "#server/testing/pair-for-each.ts";

pairForEach();

const sign = (who: TestNode, ...operations: Operation[]) => callAs(test.hub, who.caller).node.sign({ operations });
const commit = (who: TestNode, manifest: Manifest) => callAs(test.hub, who.caller).node.commit({ manifest });
const restoreOn = (who: TestNode, checkpointId: string) =>
  callAs(test.hub, "operator").restores.create({
    requestId: newId(),
    checkpointId,
    nodeId: who.nodeId,
    targetPath: "/checkpoints/x",
  });
describe("the fence around signatures", () => {
  it("lets a writer do all it needs under its own attempt", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    const uploadId = "upload";
    const { requests } = await sign(
      node,
      { op: "create", key, nonce: "n" },
      { op: "part", key, uploadId, partNumber: 1, sizeBytes: 5, crc32: "00000000" },
      { op: "parts", key, uploadId, after: 0 },
      { op: "complete", key, uploadId },
      { op: "abort", key, uploadId },
      { op: "head", key },
    );
    expect(requests.map(({ method }) => method)).toEqual(["POST", "PUT", "GET", "POST", "DELETE", "HEAD"]);
    for (const { url } of requests) expect(url).not.toContain("test-secret-key");
  });

  it("lets a node do all that measuring its link needs below its own probe keys, and nowhere else", async () => {
    const key = `team/_tidemark/probe/${node.nodeId}/${newId()}`;
    const uploadId = "upload";
    const all = (at: string): Operation[] => [
      { op: "create", key: at, nonce: "n" },
      { op: "part", key: at, uploadId, partNumber: 1, sizeBytes: 5, crc32: "00000000" },
      { op: "put", key: at, sizeBytes: 5, crc32: "00000000", nonce: "n" },
      { op: "parts", key: at, uploadId, after: 0 },
      { op: "complete", key: at, uploadId },
      { op: "abort", key: at, uploadId },
      { op: "head", key: at },
      { op: "get", key: at, offset: 0, length: 5, etag: null },
      { op: "delete", key: at },
    ];
    const { requests } = await sign(node, ...all(key));
    expect(requests.map(({ method }) => method)).toEqual([
      "POST",
      "PUT",
      "PUT",
      "GET",
      "POST",
      "DELETE",
      "HEAD",
      "GET",
      "DELETE",
    ]);
    const hostile = [
      key.replace(node.nodeId, other.nodeId),
      key.replace(`${node.nodeId}/`, ""),
      key.replace("team/", ""),
      key.replace("team/", "other/"),
      key.replace("/probe/", "/other/"),
      key.replace("/probe/", "/probe//"),
      `${key}/`,
      `${key}/more`,
      `team/_tidemark/probe/${node.nodeId}/`,
      `team/_tidemark/probe/${node.nodeId}/..`,
      `team/_tidemark/probe/${node.nodeId}/../${other.nodeId}/${newId()}`,
      `team/_tidemark/probe/${node.nodeId}/%2e%2e`,
      `team/_tidemark/probe/${node.nodeId}\n/${newId()}`,
      `/${key}`,
    ];
    for (const at of hostile) {
      for (const operation of all(at)) {
        await expect(sign(node, operation), `${operation.op} ${at}`).rejects.toEqual(fault("NOT_THIS_NODES"));
      }
    }
    const batch = sign(node, { op: "head", key }, { op: "delete", key: key.replace(node.nodeId, other.nodeId) });
    await expect(batch).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("lets nobody delete what belongs to a checkpoint", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    await expect(sign(node, { op: "delete", key })).rejects.toEqual(fault("NOT_THIS_NODES"));
    const manifest = "team/manifests/llama/e000001/s000000000001-x.json";
    await expect(sign(node, { op: "delete", key: manifest })).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("refuses an attempt that was not announced, of whatever run, epoch or prefix", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const good = keyOf(staged, "model.safetensors");
    const hostile = [
      good.replace(staged.attempt, newAttempt()),
      good.replace("/llama/", "/mistral/"),
      good.replace("/e000001/", "/e000002/"),
      good.replace("team/", "other/"),
      good.replace("team/", ""),
      "team/manifests/llama/e000001/s000000000001-x.json",
      "team/epochs/llama/e000002.json",
      `${good}/../../../../epochs/llama/e000002.json`,
      good.replace("model", "..%2Fmodel").replace("%2F", "/"),
      `team/runs/llama/e000001/${staged.attempt}/`,
      good.replace("model.safetensors", "/model.safetensors"),
      good.replace("model.safetensors", "./model.safetensors"),
      good.replace("model.safetensors", "model.safetensors\n"),
      good.replace("model.safetensors", "a\u0001b"),
      good.replace("team/runs", "team//runs"),
      good.replace("/runs/", "/%72uns/"),
      good.replace("/llama/", "/ｌlama/"),
      good.replace("/e000001/", "/e1/"),
      good.replace(staged.attempt, staged.attempt.toUpperCase()),
      `/${good}`,
    ];
    for (const key of hostile) {
      await expect(sign(node, { op: "create", key, nonce: "n" }), key).rejects.toEqual(fault("NOT_THIS_NODES"));
      await expect(sign(node, { op: "head", key }), key).rejects.toEqual(fault("NOT_THIS_NODES"));
    }
    const half = good.replace("model.safetensors", "\ud800");
    await expect(sign(node, { op: "head", key: half })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("refuses another node's attempt, and the whole batch it comes in", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    await expect(sign(other, { op: "create", key, nonce: "n" })).rejects.toEqual(fault("NOT_THIS_NODES"));
    await claim(other);
    const own = await announce(test.hub, other, { epoch: 2, step: 2 });
    const ownKey = keyOf(own, "model.safetensors");
    const batch = sign(other, { op: "create", key: ownKey, nonce: "n" }, { op: "create", key, nonce: "n" });
    await expect(batch).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("refuses a writer whose run was taken over", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await claim(other);
    const put = putOf(staged, { path: "model.safetensors", text: "x" });
    await expect(sign(node, put)).rejects.toEqual(fault("EPOCH_OVER"));
    await expect(announce(test.hub, node, { epoch: 1, step: 2 })).rejects.toEqual(fault("EPOCH_OVER"));
    await expect(announce(test.hub, node, { epoch: 2, step: 2 })).rejects.toEqual(fault("EPOCH_OVER"));
  });

  it("refuses to write under a checkpoint that is complete", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 1 });
    const put = putOf(staged, { path: "model.safetensors", text: "other weights" });
    await expect(sign(node, put)).rejects.toEqual(fault("NOT_THIS_NODES"));
    const key = keyOf(staged, "model.safetensors");
    await expect(sign(node, { op: "complete", key, uploadId: "u" })).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("lets a node take back what it left under its own attempts, whatever became of them, and nobody else", async () => {
    await claim(node);
    const replaced = await announce(test.hub, node, { epoch: 1, step: 1 });
    const complete = await announce(test.hub, node, { epoch: 1, step: 1, checkpointId: replaced.checkpointId });
    const etags = await upload(test.hub, node, complete);
    await commit(node, manifestOf(test.hub, node, { staged: complete, etags }));
    const torn = await announce(test.hub, node, { epoch: 1, step: 2 });
    await claim(other);
    for (const staged of [replaced, complete, torn]) {
      const abort: Operation = { op: "abort", key: keyOf(staged, "model.safetensors"), uploadId: "u" };
      expect((await sign(node, abort)).requests.map(({ method }) => method)).toEqual(["DELETE"]);
      await expect(sign(other, abort)).rejects.toEqual(fault("NOT_THIS_NODES"));
      const elsewhere = { ...abort, key: abort.key.replace("/e000001/", "/e000002/") };
      await expect(sign(node, elsewhere)).rejects.toEqual(fault("NOT_THIS_NODES"));
    }
  });

  it("refuses the attempt before the present one of the same checkpoint", async () => {
    await claim(node);
    const first = await announce(test.hub, node, { epoch: 1, step: 1 });
    const second = await announce(test.hub, node, { epoch: 1, step: 1, checkpointId: first.checkpointId });
    const file = { path: "model.safetensors", text: "x" };
    await expect(sign(node, putOf(first, file))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(sign(node, putOf(second, file))).resolves.toHaveProperty("requests");
  });

  it("lets a node read what it was asked to restore, exactly, until the restore has ended", async () => {
    await claim(node);
    const files = [
      { path: "model.safetensors", text: "weights" },
      { path: "trainer_state.json", text: "{}" },
    ];
    const staged = await announce(test.hub, node, { epoch: 1, step: 1, files });
    const etags = await upload(test.hub, node, staged);
    await commit(node, manifestOf(test.hub, node, { staged, etags }));
    const get = (path: string): Operation => ({
      op: "get",
      key: keyOf(staged, path),
      offset: 0,
      length: 2,
      etag: null,
    });
    const read = () => callAs(test.hub, other.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
    await expect(sign(other, get("model.safetensors"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));

    const { transferId } = await restoreOn(other, staged.checkpointId);
    expect((await read()).manifest.files).toHaveLength(2);
    const { requests } = await sign(other, get("model.safetensors"));
    const answer = await fetch(requests[0]?.url ?? "", { headers: requests[0]?.headers ?? {} });
    expect([answer.status, await answer.text()]).toEqual([206, "we"]);
    await expect(sign(other, get("optimizer.pt"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(sign(other, putOf(staged, files[0] ?? { path: "", text: "" }))).rejects.toEqual(
      fault("NOT_THIS_NODES"),
    );

    const [order] = await test.hub.db.command.findMany({ where: { transferId } });
    const ended = { at: test.hub.now(), type: "command-ended" as const, commandId: order?.id ?? "" };
    await callAs(test.hub, other.caller).node.record({ events: [{ ...ended, seq: 1, outcome: "done", fault: null }] });
    await expect(sign(other, get("model.safetensors"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("lets the writer of a run read the run", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 1 });
    const get: Operation = { op: "get", key: keyOf(staged, "model.safetensors"), offset: 0, length: 1, etag: null };
    await expect(sign(node, get)).resolves.toHaveProperty("requests");
    await claim(other);
    await expect(sign(other, get)).resolves.toHaveProperty("requests");
    await expect(sign(node, get)).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("opens nothing to a revoked node", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    const put = putOf(staged, { path: "model.safetensors", text: "x" });
    await expect(sign(node, put)).rejects.toEqual(fault("NODE_REVOKED"));
  });
});
