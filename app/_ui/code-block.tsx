import { Copy } from "./copy.tsx";
import { visibleText } from "./visible-text.ts";

/** Lines to paste elsewhere. What is copied is the text itself; what is shown has its unseen characters escaped. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-bg">
      <pre
        tabIndex={0}
        aria-label={label}
        className="overflow-x-auto py-2.5 pr-11 pl-3 font-mono text-12 leading-[18px] whitespace-pre"
      >
        {text.split("\n").map(visibleText).join("\n")}
      </pre>
      <div className="absolute top-px right-px rounded-md bg-bg p-0.5">
        <Copy text={text} label={`Copy ${label}`} />
      </div>
    </div>
  );
}
