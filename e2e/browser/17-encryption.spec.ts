import { runName } from "#protocol/base/names.ts";
import { ADMIN } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, overflow, seriousFaults, signInByPage, test } from "./story.ts";

const run = runName.parse("llama-8b");
// A wrong password is refused with a 403, a text that is no key with a 400.
test.use({ expectedErrors: [/40[03] \((Forbidden|Bad Request)\).*sealing\.(exportKey|importKey)/] });

test("encryption is switched on with its price understood, the key is exported, and a checkpoint says that it is encrypted", async ({
  page,
  stage,
}) => {
  await stage.startNode({ name: "gpu-1", run, flags: ["--settle", "100ms"] });
  await signInByPage(page, stage);
  await page.goto(`${stage.hub.url}/buckets`);
  await page.getByRole("button", { name: "Encryption of stage bucket" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("Encryption is off: checkpoints are stored as they are.")).toBeVisible();
  await dialog.getByRole("combobox", { name: "New checkpoints are" }).click();
  await page.getByRole("option", { name: /^encrypted, names too/ }).click();
  await expect(dialog.getByText("Whoever loses the key loses the checkpoints.")).toBeVisible();
  const on = dialog.getByRole("button", { name: "Switch encryption on" });
  await expect(on).toBeDisabled();
  expect(await seriousFaults(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await seriousFaults(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await dialog.getByLabel("I understand").check();
  await on.click();
  await expect(dialog.getByText("names of files are hidden")).toBeVisible();
  await expect(dialog.getByText("It was never exported")).toBeVisible();

  // The key, once the password was right.
  await dialog.getByRole("button", { name: /^Export the key/ }).click();
  const password = dialog.getByLabel("Your password");
  await dialog.getByRole("button", { name: "Show the key" }).click();
  await expect(password).toHaveAccessibleDescription("Enter your password.");
  await password.fill("not my password");
  await dialog.getByRole("button", { name: "Show the key" }).click();
  await expect(dialog.getByText("The password is wrong.")).toBeVisible();
  await password.fill(ADMIN.password);
  await dialog.getByRole("button", { name: "Show the key" }).click();
  const exported = dialog.getByLabel("exported key", { exact: true });
  await expect(exported).toContainText("tidemark-key-1.");
  await expect(dialog.getByText(/Exported .* by admin@stage.local/)).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await dialog.getByText("Import an exported key").click();
  await dialog.getByRole("button", { name: "Import key" }).click();
  await expect(dialog.getByText("Paste the exported key.")).toHaveCount(1);
  await dialog.getByLabel("Exported key", { exact: true }).fill("not a key");
  await expect(dialog.getByText("Paste the exported key.")).toHaveCount(0);
  await dialog.getByRole("button", { name: "Import key" }).click();
  await expect(dialog.getByText(/an exported key begins with tidemark-key-1/i)).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(page.getByText("encrypted, names too")).toBeVisible();

  // The node heard of it: what it saves now is encrypted, and says so.
  const shape = { modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 };
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 100, ...shape });
  const { id } = await waitUntil("step 100 is safe", async () =>
    (await stage.client.runs.get.query({ run })).checkpoints.find(({ state }) => state === "complete"),
  );
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${stage.hub.url}/checkpoints/${id}`);
  await expect(page.getByText("encrypted", { exact: true })).toBeVisible();
  await expect(page.getByText("browsers cannot download it")).toBeVisible();
  await expect(page.getByRole("button", { name: /Download/ })).toHaveCount(0);
  // The hub looks inside anyway.
  await expect(page.getByText("model.safetensors").first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
});
