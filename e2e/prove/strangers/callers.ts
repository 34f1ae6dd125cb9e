import { createHubClient } from "../../stage/hub-client.ts";
import { type Stage } from "../../stage/open-stage.ts";
import { addProfile, addToken } from "../../stage/provision.ts";
import { enrolRogue, type RogueNode } from "../../stage/rogue-node.ts";

/** Kinds of callers of a hub: anonymous, the three roles, a node, and a program with an API token. */

export const CALLERS = ["nobody", "viewer", "operator", "admin", "node", "token"] as const;
export type CallerName = (typeof CALLERS)[number];

export interface Callers {
  headersOf: (name: CallerName) => Readonly<Record<string, string>>;
  rogue: RogueNode;
}

const PASSWORD = "a-long-enough-password";

async function join(stage: Stage, about: { email: string; role: "viewer" | "operator" | "admin" }): Promise<string> {
  const { link } = await stage.client.invitations.create.mutate(about);
  const answer = await fetch(`${stage.hub.url}/api/trpc/auth.acceptInvitation`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: stage.hub.url },
    body: JSON.stringify({ code: link.slice(link.indexOf("#") + 1), password: PASSWORD }),
  });
  const cookie = answer.headers.getSetCookie()[0]?.split(";", 1)[0];
  if (cookie === undefined) throw new Error(`${about.email} could not join: ${await answer.text()}`);
  return cookie;
}

let made = 0;

/** Makes one caller of each kind. They are renewed, because fuzzed calls may have removed earlier ones. */
export async function makeCallers(stage: Stage): Promise<Callers> {
  const round = ++made;
  const email = (name: string) => `${name}-${round}@stage.local`;
  const cookies = {
    viewer: await join(stage, { email: email("viewer"), role: "viewer" }),
    operator: await join(stage, { email: email("operator"), role: "operator" }),
    admin: await join(stage, { email: email("admin"), role: "admin" }),
  };
  const owner = createHubClient(stage.hub.url, cookies.operator);
  const { token } = await owner.apiTokens.create.mutate({ name: "fuzz", role: "operator", validMs: 86_400_000 });
  // The stage's own token admits only a hundred nodes, and its profile may have been removed.
  const profileId = await addProfile(stage.client, { name: "stage bucket", store: stage.store });
  const own = await addToken(stage.client, { profileId, maxUses: 1 });
  const rogue = await enrolRogue(stage, { name: `rogue-${round}`, token: own });
  const origin = { origin: stage.hub.url };
  const headers: Record<CallerName, Record<string, string>> = {
    nobody: origin,
    viewer: { ...origin, cookie: cookies.viewer },
    operator: { ...origin, cookie: cookies.operator },
    admin: { ...origin, cookie: cookies.admin },
    node: { authorization: `Bearer ${rogue.credential}` },
    token: { authorization: `Bearer ${token}` },
  };
  return { rogue, headersOf: (name) => headers[name] };
}
