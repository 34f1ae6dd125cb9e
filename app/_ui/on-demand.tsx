"use client";
import { lazy, Suspense, type ComponentType, type ReactNode } from "react";

/** A part of a page that is loaded when it is first shown: dialogs, and pages that few see. Nothing stands in for it meanwhile. */
export function onDemand<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => ReactNode {
  const Loaded = lazy<ComponentType<Props>>(async () => ({ default: await load() }));
  return function OnDemand(props) {
    return (
      <Suspense>
        <Loaded {...props} />
      </Suspense>
    );
  };
}
