"use client";
import { useState } from "react";
import type { TokenView } from "#protocol/wire/views.ts";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Tabs } from "../_ui/layout/tabs.tsx";
import { nodeLines, repositoryLine } from "./node-lines.ts";
import { WaitForNode } from "./wait-for-node.tsx";

interface NodeLinesViewProps {
  created: { view: TokenView; token: string; hubUrl: string };
  run: string;
  runTyped: string;
  runWrong: string | undefined;
  watchFolder: string;
  onRun: (run: string) => void;
  onWatchFolder: (folder: string) => void;
}

/** Shows the commands to paste with all their values, and whether the node has joined. */
export function NodeLinesView(props: NodeLinesViewProps) {
  const { created, run, watchFolder } = props;
  const [tab, setTab] = useState("docker");
  const input = { hubUrl: created.hubUrl, token: created.token, run, watchFolder };
  return (
    <div className="flex flex-col gap-3">
      <div className="grid gap-x-4 sm:grid-cols-2">
        <TextField
          label="Run"
          error={props.runWrong}
          kind="code"
          value={props.runTyped}
          onChange={(value) => props.onRun(value)}
        />
        <TextField
          label="Watched folder"
          kind="code"
          value={watchFolder}
          onChange={(value) => props.onWatchFolder(value)}
        />
      </div>
      <Tabs
        label="Ways to start the worker"
        value={tab}
        onChange={setTab}
        items={nodeLines(input).map((line) => ({
          id: line.id,
          label: line.label,
          body: (
            <div className="flex flex-col gap-2">
              <p className="text-soft">{line.about}</p>
              <CodeBlock text={line.text} label={`${line.label} lines`} />
              {line.id === "node" && (
                <>
                  <p className="text-soft">In a clone of the repository, without building anything:</p>
                  <CodeBlock text={repositoryLine(input)} label="repository line" />
                </>
              )}
            </div>
          ),
        }))}
      />
      <p className="text-12 text-faint">The token is shown only here. It can be revoked under Settings.</p>
      <WaitForNode token={created.view} />
    </div>
  );
}
