import { expect, it } from "vitest";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import { runName } from "#protocol/base/names.ts";
import { makeSafe, run, type Staged } from "#server/testing/stage-checkpoint.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { countQueries } from "#server/testing/count-queries.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { newId } from "#server/platform/random-id.ts";

pairForEach();

/** All that a node hears at once when it comes back. */
async function comeBack(who: TestNode, hub = test.hub): Promise<NodeMessage[]> {
  const answer = await callAs(hub, who.caller).node.stream({ bootId: newId() });
  const stream = (answer as AsyncIterable<NodeMessage>)[Symbol.asyncIterator]();
  const heard: NodeMessage[] = [];
  const listen = async (): Promise<void> => {
    const next = await stream.next();
    if (next.done === true) return;
    heard.push(next.value);
    // The second one is sent when the first was heard: it ends the listening.
    if (heard.filter(({ type }) => type === "refresh").length < 2) await listen();
  };
  const listening = listen();
  // What there is comes before what is sent now.
  while (!heard.some(({ type }) => type === "refresh")) {
    hub.live.send(who.nodeId, { type: "refresh" });
    await new Promise((resolve) => setImmediate(resolve));
  }
  hub.live.send(who.nodeId, { type: "refresh" });
  await listening;
  await stream.return?.(undefined);
  return heard.filter(({ type }) => type !== "refresh");
}
const restore = ({ checkpointId }: Staged, nodeId: string) =>
  callAs(test.hub, "operator").checkpoints.verify({ requestId: newId(), checkpointId, nodeId });
const typesOf = (heard: readonly NodeMessage[]) => heard.map(({ type }) => type);

it("a node that comes back with nothing to hear costs no question to the database", async () => {
  await comeBack(node);
  const queries = countQueries(test.hub);
  expect(typesOf(await comeBack(node, queries.hub))).toEqual(["settings"]);
  expect(queries.asked()).toEqual([]);
});

it("what was sent while it was away it hears at every return until it says how that ended, also after a restart of the hub", async () => {
  const { epoch } = await claim(node);
  const staged = await makeSafe(test.hub, node, { epoch, step: 100 });
  await restore(staged, other.nodeId);
  for (let back = 0; back < 2; back++) expect(typesOf(await comeBack(other))).toEqual(["settings", "command"]);
  await test.restart();
  expect(typesOf(await comeBack(other))).toEqual(["settings", "command"]);
  const [row] = await test.hub.db.command.findMany();
  const ended = { type: "command-ended" as const, commandId: row?.id ?? "", outcome: "done" as const, fault: null };
  await callAs(test.hub, other.caller).node.record({ events: [{ ...ended, seq: 1, at: test.hub.now() }] });
  expect(typesOf(await comeBack(other))).toEqual(["settings"]);
  const queries = countQueries(test.hub);
  expect(typesOf(await comeBack(other, queries.hub))).toEqual(["settings"]);
  expect(queries.asked()).toEqual([]);
});

it("a credential that is to be replaced is asked for at every return, also after a restart of the hub", async () => {
  await callAs(test.hub, "admin").nodes.rotateCredential({ id: node.nodeId });
  expect(typesOf(await comeBack(node))).toEqual(["settings", "rotate"]);
  await test.restart();
  expect(typesOf(await comeBack(node))).toEqual(["settings", "rotate"]);
  expect(typesOf(await comeBack(other))).toEqual(["settings"]);
  test.advance(test.hub.settings.rotateAfterMs + 1_000);
  expect(typesOf(await comeBack(other))).toEqual(["settings", "rotate"]);
});

it("the list of runs asks as often for many runs as for one, and says of each what its own page says", async () => {
  const listed = async () => {
    const queries = countQueries(test.hub);
    const rows = await callAs(queries.hub, "viewer").runs.list();
    return { rows, asked: queries.asked() };
  };
  await callAs(test.hub, node.caller).node.claimEpoch({ run });
  await makeSafe(test.hub, node, { epoch: 1, step: 100 });
  const few = await listed();
  const names = ["second", "third", "fourth"].map((name) => runName.parse(name));
  for (const name of names) await callAs(test.hub, node.caller).node.claimEpoch({ run: name });
  const newest = await makeSafe(test.hub, node, { epoch: 1, step: 200 });
  await test.hub.db.checkpoint.update({ where: { id: newest.checkpointId }, data: { damagedAt: new Date(1) } });
  const { rows, asked } = await listed();
  expect(asked).toEqual(few.asked);
  expect(rows.map(({ name, newestStep, complete }) => [name, newestStep, complete])).toEqual(
    expect.arrayContaining([
      ["llama", 100, 2],
      ["second", null, 0],
      ["third", null, 0],
    ]),
  );
  for (const row of rows) expect(await callAs(test.hub, "viewer").runs.get({ run: row.name })).toMatchObject(row);
});
