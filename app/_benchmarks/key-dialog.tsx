"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { BenchKeyView, TemporaryWay } from "#protocol/benchmarks/bench-key.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { SecretField } from "../_forms/secret-field.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

type Kind = "given" | "temporary";

/** Sets the key for third-party engines at one bucket. The store creates temporary keys per turn, or an admin provides a key. */
export function KeyDialog({ bucket, onClose }: { bucket: BenchKeyView; onClose: () => void }) {
  const client = useQueryClient();
  const { call, address } = bucket.temporary ?? { call: "sts", address: "" };
  const [kind, setKind] = useState<Kind>(bucket.kind ?? (address === "" ? "given" : "temporary"));
  const [endpoint, setEndpoint] = useState(address);
  const [role, setRole] = useState("");
  const [apiToken, setApiToken] = useState("");
  const [accessKeyId, setAccessKeyId] = useState("");
  const [secretAccessKey, setSecret] = useState("");
  const [grant, setGrant] = useState("");
  const name = visibleText(bucket.profileName);
  const way: TemporaryWay =
    call === "r2"
      ? { call, url: endpoint.trim(), parentAccessKeyId: accessKeyId, apiToken }
      : { call, endpoint: endpoint.trim(), roleArn: role.trim() === "" ? null : role.trim() };
  const save = useAction(() =>
    hub.benchmarks.setKey.mutate({
      profileId: bucket.profileId,
      key: kind === "given" ? { kind, accessKeyId, secretAccessKey } : { kind, way },
      grant: grant.trim() === "" ? null : grant.trim(),
    }),
  );
  const wanted = kind === "given" ? [accessKeyId, secretAccessKey] : call === "r2" ? [accessKeyId, apiToken] : [];
  const isWhole = wanted.every((text) => text !== "") && (kind === "given" || endpoint.trim() !== "");
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Benchmark key for ${name}`}
      intro="Lent to a node for its turn and kept there in memory only."
    >
      <Form
        label="Benchmark key"
        actions={[save]}
        onSubmit={() => {
          save.run(undefined, () => {
            void client.invalidateQueries({ queryKey: ["benchmarks"] });
            say(
              "safe",
              kind === "given" ? `The benchmark key of ${name} is saved.` : `Nodes get a key for each turn at ${name}.`,
            );
            onClose();
          });
        }}
      >
        <fieldset className="grid gap-1 pb-2">
          <legend className="sr-only">Whose key</legend>
          <KindLine kind="temporary" chosen={kind} onChoose={setKind} title="Made by the store for each turn">
            {bucket.temporary === null
              ? "None is known for this provider. It opens the turn’s folder only, and expires by itself."
              : "It opens the turn’s folder only, and expires by itself."}
          </KindLine>
          <KindLine kind="given" chosen={kind} onChoose={setKind} title="A key of its own">
            Use a key for a benchmark bucket only: the owner of a node can read it there.
          </KindLine>
        </fieldset>
        {kind === "given" ? (
          <>
            <TextField label="Access key" kind="code" value={accessKeyId} onChange={setAccessKeyId} />
            <SecretField label="Secret" value={secretAccessKey} onChange={setSecret} />
          </>
        ) : (
          <>
            <TextField
              label="Service"
              kind="code"
              hint="Where temporary keys are given out. It is asked for one when you save."
              placeholder="https://sts.example.com"
              value={endpoint}
              onChange={setEndpoint}
            />
            {call === "r2" ? (
              <>
                <TextField
                  label="Access key"
                  kind="code"
                  hint="Of the R2 token whose rights the new key has at most."
                  value={accessKeyId}
                  onChange={setAccessKeyId}
                />
                <SecretField
                  label="API token"
                  hint="Of Cloudflare, with the right to make temporary keys. It stays in the hub."
                  value={apiToken}
                  onChange={setApiToken}
                />
              </>
            ) : (
              <TextField
                label="Role"
                kind="code"
                hint="Its ARN, where the store wants one (Wasabi, Ceph). On AWS, empty is a federated user."
                placeholder="arn:aws:iam::123456789012:role/bench"
                value={role}
                onChange={setRole}
              />
            )}
          </>
        )}
        <SecretField
          label="Access grant"
          hint="Of Storj, for its own program uplink; else left empty."
          value={grant}
          onChange={setGrant}
        />
        <FormFault />
        <FormEnd
          word={kind === "given" ? "Save key" : "Try and save"}
          busyWord={kind === "given" ? "Saving" : "Asking the store"}
          busy={save.busy}
          disabled={!isWhole}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  );
}

interface KindLineProps {
  kind: Kind;
  chosen: Kind;
  onChoose: (kind: Kind) => void;
  title: string;
  children: ReactNode;
}

function KindLine({ kind, chosen, onChoose, title, children }: KindLineProps) {
  return (
    <label className="grid cursor-pointer grid-cols-[auto_minmax(0,1fr)] items-center gap-x-2.5 rounded-md border border-line px-3 py-2 font-mid has-checked:border-edge has-checked:bg-bg">
      <input
        type="radio"
        name="kind"
        className="size-4 accent-accent"
        checked={kind === chosen}
        onChange={() => onChoose(kind)}
      />
      {title}
      <span className="col-start-2 text-12 font-normal text-soft">{children}</span>
    </label>
  );
}
