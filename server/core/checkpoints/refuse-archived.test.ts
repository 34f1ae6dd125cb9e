import { beforeEach, expect, test as it } from "vitest";
import { makeSafe, type Staged } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { epoch, profileId, test, writer, writerForEach } from "#server/testing/writer-for-each.ts";

let target: TestNode;
let staged: Staged;
writerForEach();
beforeEach(async () => {
  target = await addTestNode(test.hub, profileId, "target");
  const files = ["cold-1.bin", "cold-2.bin", "warm.bin"].map((path) => ({ path, text: path }));
  staged = await makeSafe(test.hub, writer, { epoch, step: 500, files });
});

interface Sent {
  constructor: { name: string };
  input: { Key?: string };
}
interface Answer {
  Contents?: { Key?: string; StorageClass?: string }[];
  StorageClass?: string;
}
const isCold = (key: string | undefined) => key?.includes("cold-") === true;

/** A rule of the bucket has moved some of the objects to an archive. */
async function archive(): Promise<void> {
  const { client } = await test.hub.stores.open(profileId);
  const send = client.send.bind(client);
  client.send = (async (command: Sent) => {
    const answer = (await send(command as never)) as Answer;
    for (const one of answer.Contents ?? []) if (isCold(one.Key)) one.StorageClass = "DEEP_ARCHIVE";
    if (command.constructor.name === "HeadObjectCommand" && isCold(command.input.Key))
      answer.StorageClass = "DEEP_ARCHIVE";
    return answer;
  }) as never;
}

const restore = (choice: { files: string[] } | null) =>
  callAs(test.hub, "operator").restores.start({
    requestId: newId(),
    checkpointId: staged.checkpointId,
    nodeIds: [target.nodeId],
    targetPath: "/data/checkpoints/llama/checkpoint-500",
    choice,
    mayFallBack: false,
  });

it("a restore of archived objects is refused before it begins, with the files by name; of others it is not", async () => {
  await archive();
  await expect(restore(null)).rejects.toMatchObject({
    cause: { code: "OBJECT_ARCHIVED", context: { subject: "cold-1.bin", detail: "cold-1.bin, cold-2.bin" } },
  });
  expect(await test.hub.db.transfer.count({ where: { direction: "download" } })).toBe(0);
  const { restores } = await restore({ files: ["warm.bin"] });
  expect(restores).toMatchObject([{ nodeId: target.nodeId, fault: null }]);
});

it("a node that would go on from such a checkpoint is told so before it asks for a byte", async () => {
  const read = () => callAs(test.hub, writer.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
  await archive();
  await expect(read()).rejects.toMatchObject({ cause: { code: "OBJECT_ARCHIVED" } });
});

it("a node that may need only some files is told which objects are archived", async () => {
  await archive();
  const { checkpointId } = staged;
  const told = await callAs(test.hub, writer.caller).node.readCheckpoint({ checkpointId, withArchived: true });
  expect(told.archived?.map(({ name, state }) => [name.split("/").at(-1), state])).toEqual([
    ["cold-1.bin", "archived"],
    ["cold-2.bin", "archived"],
  ]);
});
