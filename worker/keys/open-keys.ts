import { createKeyRing } from "#storage/signing/key-ring.ts";
import { fixedCredential, type Credential, type CredentialSource } from "#storage/signing/sigv4.ts";
import type { Config } from "../command-line/config.ts";
import { NO_KEYS } from "../command-line/key-facts.ts";
import { usage } from "../command-line/command-context.ts";

/** Time before expiry at which keys are renewed, the same as in the AWS SDK. */
const AHEAD_MS = 5 * 60_000;

/** Opens the keys that a command signs with: given ones, or a provider's, which are renewed. @throws Fault BAD_INPUT */
export function openKeys(config: Config): CredentialSource {
  const { keysFrom } = config;
  if (keysFrom === null) return fixedCredential(readCredential(config));
  const region = config.text("region");
  const ask = async (): Promise<Credential> => {
    const { askProvider } = await import("./ask-provider.ts");
    return askProvider(keysFrom, region);
  };
  return createKeyRing({
    ask,
    nameOf: ({ sessionToken, accessKeyId: id }) => sessionToken ?? id,
    aheadMs: AHEAD_MS,
    says: keysFrom.says,
    now: Date.now,
  });
}

function readCredential(config: Config): Credential {
  const accessKeyId = config.text("access-key-id");
  const secretAccessKey = config.text("secret-access-key");
  if (accessKeyId === null || secretAccessKey === null) {
    throw usage("keys", NO_KEYS);
  }
  const sessionToken = config.text("session-token");
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}
