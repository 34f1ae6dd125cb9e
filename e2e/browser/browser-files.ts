import type { S3Client } from "@aws-sdk/client-s3";
import type { Page } from "@playwright/test";
import { createControlClient } from "#storage/s3/client.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import type { Stage } from "../stage/open-stage.ts";

/** Files on both sides of a browser: in its own file system, and as objects in the bucket. */

/** Lets the browser's pickers, and what is dropped, give a folder of its own file system. */
export async function standInPickers(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const root = () => navigator.storage.getDirectory();
    Reflect.set(globalThis, "showDirectoryPicker", async () => (await root()).getDirectoryHandle("dataset"));
    Reflect.set(globalThis, "showSaveFilePicker", async ({ suggestedName }: { suggestedName: string }) =>
      (await root()).getFileHandle(`saved-${suggestedName}`, { create: true }),
    );
    Reflect.set(DataTransferItem.prototype, "getAsFileSystemHandle", async () =>
      (await root()).getDirectoryHandle("dataset"),
    );
  });
}

/** Files of these sizes in the folder; returns their SHA-256 by name. */
export async function writeFiles(page: Page, sizes: Record<string, number>): Promise<Record<string, string>> {
  return page.evaluate(async (wanted) => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("dataset", { create: true });
    const sums: Record<string, string> = {};
    for (const [name, size] of Object.entries(wanted)) {
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
      const writer = await (await folder.getFileHandle(name, { create: true })).createWritable();
      await writer.write(bytes);
      await writer.close();
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      sums[name] = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    return sums;
  }, sizes);
}

/** Opens the dialog for an upload below `up/`. */
export async function openUpload(page: Page, stage: Stage): Promise<void> {
  await page.goto(`${stage.hub.url}/transfers`);
  await page.getByRole("region", { name: "This browser" }).getByRole("button", { name: "Upload…" }).click();
  await page.getByRole("dialog").getByLabel("Folder", { exact: true }).first().fill("up/");
}

/** A client of the stage's bucket with its own keys. */
export function clientOf(stage: Stage): S3Client {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  const access = { endpoint, region: "us-east-1", bucket, addressing: "path", traits: traitsOf("minio") } as const;
  return createControlClient({
    access,
    credential: { accessKeyId: accessKey, secretAccessKey: secretKey },
  });
}

/** Writes objects with these texts. */
export async function putAll(stage: Stage, objects: Readonly<Record<string, string>>): Promise<void> {
  const client = clientOf(stage);
  const { bucket } = stage.store;
  for (const [key, text] of Object.entries(objects)) await putObjectText(client, { bucket, key, text });
  client.destroy();
}
