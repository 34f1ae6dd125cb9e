import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { Terminal } from "../../command-line/terminal.ts";
import { createCaptureMessages } from "./capture-messages.ts";

test("a name with a line break makes no line of its own in what is said of what was not taken", () => {
  const said: string[] = [];
  const messages = createCaptureMessages({ say: (text: string) => void said.push(text) } as unknown as Terminal);
  const name = "a\nSafe: llama step 10";
  const largest = [{ path: `${name}.bin`, sizeBytes: 1, apart: { kind: "hidden" as const, folder: name } }];
  const untaken = { files: 1, bytes: 1, newestMs: 0, largest, small: { files: 1, first: name }, notEntered: [] };
  messages.nothingTaken({ run: "llama", folder: `/x/${name}`, untaken, isRefused: false });
  messages.leftAtEnd({ run: "llama", folder: `/x/${name}`, untaken });
  messages.passedOver({ path: `/x/${name}`, step: 10 } as Parameters<typeof messages.passedOver>[0]);
  messages.refused({ path: `/x/${name}` }, new Fault("NO_CHECKPOINT", { op: "capture", subject: name }));
  expect(said).toHaveLength(4);
  for (const text of said) {
    expect(text).toContain("a\\u000aSafe");
    expect(text).not.toContain("\n");
  }
});
