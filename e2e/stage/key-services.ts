import { createHash, randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { RunningStore } from "./start-store.ts";
import { addCredential } from "./store-control.ts";

/**
 * Emulates all sources of AWS keys on one loopback address: instance metadata (IMDSv2), container metadata, Security Token
 * Service, SSO portal and credential process. Each key opens the store until it expires.
 */

export const KEY_KINDS = ["role", "sso", "process", "web identity", "container", "instance"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

export interface KeyServices {
  /** Behavior of the services from now on. */
  mode: "given" | "refused" | "held" | "away";
  /** Lifetime of each key, in milliseconds. */
  lifeMs: number;
  /** Number of keys given out. */
  given: number;
  /** Each secret and token given out. Tests check that none of them appears anywhere. */
  secrets: Set<string>;
  /** Returns the environment of a command that gets its keys this way. Writes AWS configuration files into a separate home. */
  environment(kind: KeyKind): Record<string, string>;
  close(): Promise<void>;
}

interface Minted {
  AccessKeyId: string;
  SecretAccessKey: string;
  SessionToken: string;
  Expiration: string;
}

const xmlOf = (op: string, key: Minted): string =>
  `<${op}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${op}Result><Credentials>${Object.entries(key)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("")}</Credentials></${op}Result></${op}Response>`;

const REFUSAL =
  "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is not authorized to perform: sts:AssumeRole</Message></Error><RequestId>1</RequestId></ErrorResponse>";

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

export async function openKeyServices(store: RunningStore, folder: string): Promise<KeyServices> {
  const held = new Set<ServerResponse>();
  const mint = async (): Promise<Minted> => {
    const [accessKey, secretKey, sessionToken] = [
      `ASIA${randomUUID().slice(0, 8)}`,
      randomUUID(),
      `token+${randomUUID()}/==`,
    ];
    const expiresAtMs = Date.now() + services.lifeMs;
    await addCredential(store, { accessKey, secretKey, sessionToken, expiresAtMs });
    services.given++;
    services.secrets.add(secretKey).add(sessionToken);
    return {
      AccessKeyId: accessKey,
      SecretAccessKey: secretKey,
      SessionToken: sessionToken,
      Expiration: new Date(expiresAtMs).toISOString(),
    };
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const body = await bodyOf(request);
    const send = (status: number, text: string, type = "application/json") =>
      response.writeHead(status, { "content-type": type }).end(text);
    if (pathname === "/latest/api/token") return void send(200, "imds-token", "text/plain");
    if (pathname === "/latest/meta-data/iam/security-credentials/") return void send(200, "node-role", "text/plain");
    if (services.mode === "away") return void response.destroy();
    if (services.mode === "held") return void held.add(response);
    const isRefused = services.mode === "refused";
    const isSts = pathname === "/" && request.method === "POST";
    if (isRefused) return void send(403, isSts ? REFUSAL : "{}", isSts ? "text/xml" : undefined);
    const key = await mint();
    if (isSts) {
      const op = new URLSearchParams(body).get("Action") ?? "";
      return void send(200, xmlOf(op, key), "text/xml");
    }
    if (pathname === "/federation/credentials") {
      const roleCredentials = {
        accessKeyId: key.AccessKeyId,
        secretAccessKey: key.SecretAccessKey,
        sessionToken: key.SessionToken,
        expiration: Date.parse(key.Expiration),
      };
      return void send(200, JSON.stringify({ roleCredentials }));
    }
    if (pathname === "/process") return void send(200, JSON.stringify({ Version: 1, ...key }));
    const { SessionToken: Token, ...rest } = key;
    return void send(
      200,
      JSON.stringify({ Code: "Success", LastUpdated: new Date().toISOString(), Type: "AWS-HMAC", ...rest, Token }),
    );
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const services: KeyServices = {
    mode: "given",
    lifeMs: 3_600_000,
    given: 0,
    secrets: new Set(),
    environment: (kind) => ({ ...homeFor({ kind, at, folder, store }), ...variablesFor(kind, { at, folder }) }),
    close: async () => {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return services;
}

const ROLE = "arn:aws:iam::123456789012:role/training";

/** Writes `~/.aws` for a person with this kind of keys; the store's address is in a `services` section. */
function homeFor(about: { kind: KeyKind; at: string; folder: string; store: RunningStore }): Record<string, string> {
  const { kind, at, folder, store } = about;
  const home = join(folder, `home-${kind.replace(" ", "-")}`);
  mkdirSync(join(home, ".aws/sso/cache"), { recursive: true });
  const script = join(home, "give-keys.mjs");
  writeFileSync(
    script,
    `#!${process.execPath}\nconst r = await fetch("${at}/process");\nif (!r.ok) { console.error("denied, secret=stderr-secret"); process.exit(7); }\nprocess.stdout.write(await r.text());\n`,
  );
  chmodSync(script, 0o755);
  const startUrl = "https://example.awsapps.com/start";
  const ways: Partial<Record<KeyKind, string[]>> = {
    role: [`role_arn = ${ROLE}`, "source_profile = base"],
    sso: ["sso_session = corp", "sso_account_id = 123456789012", "sso_role_name = training"],
    process: [`credential_process = ${script}`],
  };
  const profile = [...(ways[kind] ?? []), "region = us-east-1", "services = ours"];
  const config = [
    "[default]",
    ...profile,
    "[profile base]",
    `aws_access_key_id = ${store.accessKey}`,
    `aws_secret_access_key = ${store.secretKey}`,
    "[sso-session corp]",
    "sso_region = us-east-1",
    `sso_start_url = ${startUrl}`,
    "sso_registration_scopes = sso:account:access",
    "[services ours]",
    "s3 =",
    `  endpoint_url = ${store.endpoint}`,
  ];
  writeFileSync(join(home, ".aws/config"), `${config.join("\n")}\n`);
  // The SDK caches an SSO token under the SHA-1 of its session name.
  const cached = createHash("sha1").update("corp").digest("hex");
  const token = {
    startUrl,
    region: "us-east-1",
    accessToken: "sso-access",
    expiresAt: new Date(Date.now() + 7_200_000).toISOString(),
  };
  writeFileSync(join(home, `.aws/sso/cache/${cached}.json`), JSON.stringify(token));
  writeFileSync(join(home, "web-token"), "header.payload.signature");
  return { HOME: home };
}

function variablesFor(kind: KeyKind, { at, folder }: { at: string; folder: string }): Record<string, string> {
  const none = { AWS_EC2_METADATA_DISABLED: "true" };
  switch (kind) {
    case "role":
      return { ...none, AWS_ENDPOINT_URL_STS: at };
    case "web identity":
      return {
        ...none,
        AWS_ENDPOINT_URL_STS: at,
        AWS_ROLE_ARN: ROLE,
        AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, "home-web-identity/web-token"),
      };
    case "sso":
      return { ...none, AWS_ENDPOINT_URL_SSO: at };
    case "process":
      return none;
    case "container":
      return { ...none, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${at}/container` };
    case "instance":
      return { AWS_EC2_METADATA_SERVICE_ENDPOINT: at };
  }
}
