"use client";
import { lazy, Suspense, type ComponentType, type ReactNode } from "react";

/**
 * A part of a page that is loaded when it is first shown: dialogs, what stands further down, and pages that few see.
 * Meanwhile the stand-in holds its place; where nothing would move, none is needed.
 */
export function onDemand<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  standIn: (props: Props) => ReactNode = () => null,
): (props: Props) => ReactNode {
  const Loaded = lazy<ComponentType<Props>>(async () => ({ default: await load() }));
  return function OnDemand(props) {
    return (
      <Suspense fallback={standIn(props)}>
        <Loaded {...props} />
      </Suspense>
    );
  };
}

/**
 * The same for what every visitor of a page sees: on its way as soon as the page's own script runs, while the hub is asked
 * who this is and for what is to be shown. One that could not be loaded then is tried again when it is shown.
 */
export function onItsWay<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  standIn?: (props: Props) => ReactNode,
): (props: Props) => ReactNode {
  const early = typeof window === "undefined" ? null : load();
  early?.catch(() => undefined);
  return onDemand(() => (early === null ? load() : early.catch(load)), standIn);
}
