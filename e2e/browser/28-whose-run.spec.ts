import { runName } from "#protocol/base/names.ts";
import { announce, enrolRogue, refusal } from "../stage/rogue-node.ts";
import { expect, expectSound, openSignedIn, showAs, test } from "./story.ts";

/** Whose a run is, as a person decides it: the patterns of a token and of a node, and a run that is handed over. */

const run = runName.parse("llama");

test("a run is handed over to the node that asked for it, and its writer until then writes no more", async ({
  page,
  stage,
}) => {
  const owner = await enrolRogue(stage, { name: "owner" });
  const other = await enrolRogue(stage, { name: "other" });
  const { epoch } = await owner.node.claimEpoch.mutate({ run });
  await announce(owner, { run, epoch, step: 1 });
  expect(await refusal(other.node.claimEpoch.mutate({ run }))).toBe("RUN_IN_USE");
  const handedTo = async () => (await stage.client.runs.get.query({ run })).handedTo;

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/runs/${run}`);
  await expect(page.getByText("other asked to write this run and was refused.")).toBeVisible();
  await page.getByRole("button", { name: "Hand over…" }).click();
  const dialog = page.getByRole("dialog", { name: "Hand llama over to other?" });
  await expect(dialog.getByText("owner then stops saving this run")).toBeVisible();
  await showAs(page, "narrow");
  await expectSound(page, "the dialog");
  await showAs(page, "wide");
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await expect(dialog).toBeHidden();
  expect(await handedTo()).toBeNull();
  expect(await refusal(other.node.claimEpoch.mutate({ run }))).toBe("RUN_IN_USE");

  await page.getByRole("button", { name: "Hand over…" }).click();
  await dialog.getByRole("button", { name: "Hand over", exact: true }).click();
  await expect(page.getByText("other may take this run over.", { exact: true }).first()).toBeVisible();
  await expect(dialog).toBeHidden();
  await expect.poll(handedTo).toEqual({ nodeId: other.nodeId, nodeName: "other" });
  const { rows } = await stage.client.audit.list.query({ cursor: null, limit: 20 });
  expect(rows.map(({ action, subject }) => `${action}: ${subject}`)).toContain("hand run over: llama to other");
  // Its word is good for one claim.
  expect((await other.node.claimEpoch.mutate({ run })).epoch).toBe(epoch + 1);
  expect(await refusal(announce(owner, { run, epoch, step: 2 }))).toBe("EPOCH_OVER");
  expect(await refusal(owner.node.claimEpoch.mutate({ run }))).toBe("RUN_IN_USE");
});

test("a node and the machines of a token write the runs that their patterns name, and no others", async ({
  page,
  stage,
}) => {
  const node = await enrolRogue(stage, { name: "gpu-1" });
  const mayWrite = async () => (await stage.client.nodes.get.query({ id: node.nodeId })).mayWrite;

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/nodes/${node.nodeId}`);
  const open = () => page.getByRole("button", { name: "Runs…" }).click();
  await open();
  const dialog = page.getByRole("dialog", { name: "Runs of gpu-1" });
  const field = dialog.getByLabel("May write");
  await field.fill("eval-*, [llama]");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText(/letters, digits/)).toBeVisible();
  await expect(field).toBeFocused();
  await field.fill("eval-*, test-?");
  await expect(dialog.getByText(/letters, digits/)).toHaveCount(0);
  await expectSound(page, "the dialog");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(mayWrite).toBe("eval-*,test-?");
  expect(await refusal(node.node.claimEpoch.mutate({ run }))).toBe("RUN_NOT_ALLOWED");
  expect((await node.node.claimEpoch.mutate({ run: runName.parse("eval-7") })).epoch).toBe(1);

  // Empty again: what is new it may write.
  await open();
  await expect(field).toHaveValue("eval-*, test-?");
  await field.fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect.poll(mayWrite).toBeNull();
  expect((await node.node.claimEpoch.mutate({ run })).epoch).toBe(1);

  await page.goto(`${stage.hub.url}/nodes?add`);
  await page.getByRole("button", { name: "Add node" }).first().click();
  await page.getByLabel("Machines").fill("0");
  await page.getByRole("button", { name: "Create token" }).click();
  await expect(page.getByText("from 1 to 10,000 machines")).toHaveCount(1);
  await page.getByLabel("Machines").fill("1");
  await expect(page.getByText("from 1 to 10,000 machines")).toHaveCount(0);
  await page.getByLabel("Runs").fill("mistral-*");
  await page.getByRole("button", { name: "Create token" }).click();
  const madeOf = async () => (await stage.client.tokens.list.query()).find(({ runs }) => runs === "mistral-*");
  await expect.poll(madeOf).toBeDefined();
  const shown = await page.locator("body").innerText();
  const token = /tmj_[A-Za-z0-9_-]+/.exec(shown)?.[0] ?? "";
  const machine = await enrolRogue(stage, { name: "machine", token });
  expect(await refusal(machine.node.claimEpoch.mutate({ run: runName.parse("qwen-1") }))).toBe("RUN_NOT_ALLOWED");
  expect((await machine.node.claimEpoch.mutate({ run: runName.parse("mistral-1") })).epoch).toBe(1);
});
