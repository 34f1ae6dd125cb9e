import { expect, it } from "vitest";
import { startSigner } from "./signing.ts";

it("the signer process of the benchmark starts, signs every part and stops", async () => {
  const signer = await startSigner();
  try {
    await signer.sign();
    expect(signer.cpuMs()).toBeGreaterThan(0);
  } finally {
    await signer.stop();
  }
});
