"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useEffect, type ReactNode } from "react";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { PersonProvider } from "../../_hub/session/person.tsx";
import { profilesQuery, statusQuery } from "../../_hub/queries/queries.ts";
import { useLiveLink } from "../../_hub/live/use-live-link.ts";
import { ButtonLink } from "../../_ui/controls/button.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { Skeleton } from "../../_ui/loading/skeleton.tsx";
import { AccountForm } from "./account-form.tsx";
import { StepWords } from "./step-words.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";

const AddNodeForm = onDemand(() => import("../../_add-node/add-node-form.tsx").then((module) => module.AddNodeForm));
const ProfileFormView = onDemand(() =>
  import("../../_buckets/profile-form.tsx").then((module) => module.ProfileFormView),
);

/** Guides through the setup of a new hub: account, bucket, node. Continues at the first unfinished step. */
export function FirstRun() {
  const router = useRouter();
  const client = useQueryClient();
  const status = useQuery(statusQuery());
  const person = status.data?.person ?? null;
  const profiles = useQuery({ ...profilesQuery(), enabled: person !== null });
  const locked = status.data !== undefined && !status.data.needsSetup && person === null;
  useEffect(() => {
    if (locked) router.replace("/sign-in");
  }, [locked, router]);
  useLiveLink(person?.id ?? null);

  if (status.isError && status.data === undefined)
    return <FaultNote fault={faultOf(status.error)} onRetry={() => void status.refetch()} />;
  if (status.data === undefined || locked) return <Skeleton className="h-64 w-full" />;
  if (person === null)
    return (
      <Stage step="account" title="Welcome. First, an account." about="It becomes the admin of this hub.">
        <AccountForm onDone={(answer) => client.setQueryData(statusQuery().queryKey, answer)} />
      </Stage>
    );
  if (profiles.data === undefined && !profiles.isError) return <Skeleton className="h-64 w-full" />;
  if (profiles.data === undefined || profiles.data.length === 0)
    return (
      <PersonProvider person={person}>
        <Stage
          step="bucket"
          title="Now a bucket of yours."
          about="Checkpoints go straight from the nodes into it; they never pass through the hub."
        >
          <ProfileFormView edited={null} saveWord="Save and continue" onSaved={() => void profiles.refetch()} />
        </Stage>
      </PersonProvider>
    );
  return (
    <PersonProvider person={person}>
      <Stage step="node" title="Last, a node." about="One line in the container. It turns green here by itself.">
        <AddNodeForm />
      </Stage>
      <div className="flex justify-end">
        <ButtonLink href="/" look="quiet">
          Go to the overview
        </ButtonLink>
      </div>
    </PersonProvider>
  );
}

interface StageProps {
  step: "account" | "bucket" | "node";
  title: string;
  about: string;
  children: ReactNode;
}

function Stage({ step, title, about, children }: StageProps) {
  return (
    <>
      <StepWords step={step} />
      <div>
        <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">{title}</h1>
        <p className="text-soft">{about}</p>
      </div>
      <Panel label={title}>
        <div className="px-5 py-3">{children}</div>
      </Panel>
    </>
  );
}
