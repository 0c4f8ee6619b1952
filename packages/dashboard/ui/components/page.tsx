import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode, useEffect } from "react";
import { Icon } from "./icon.tsx";
import styles from "./page.module.css";

export interface Crumb {
  readonly label: string;
  /** A path of the dashboard, starting with a slash and the namespace: "/shop/runs". Parts encoded. */
  readonly to?: string;
}

export interface PageProps {
  /** The word of the navigation. Also the title of the tab: "Runs · Holdfast". */
  readonly title: string;
  /** Beside the heading. */
  readonly beside?: ReactNode;
  /** Buttons at the right end. */
  readonly actions?: ReactNode;
  readonly crumbs?: readonly Crumb[];
  /** In the face for ids. */
  readonly mono?: boolean;
  readonly children: ReactNode;
}

/** Every page: the title of the tab, the one h1, its buttons. */
export function Page({ title, beside, actions, crumbs, mono, children }: PageProps) {
  usePageTitle(title);
  return (
    <>
      {crumbs === undefined ? null : <Crumbs crumbs={crumbs} />}
      <div className={styles.head}>
        <h1 className={mono ? styles.mono : undefined}>{title}</h1>
        {beside}
        {actions === undefined ? null : <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
}

function Crumbs({ crumbs }: { readonly crumbs: readonly Crumb[] }) {
  return (
    <nav className={styles.crumbs} aria-label="Breadcrumb">
      {crumbs.map(({ label, to }, index) => (
        <Fragment key={label}>
          {index === 0 ? null : <Icon name="right" size="small" />}
          {to === undefined ? <span>{label}</span> : <Link to={to}>{label}</Link>}
        </Fragment>
      ))}
    </nav>
  );
}

export interface PanelProps {
  /** The heading, and the accessible name. */
  readonly title?: string;
  /** The accessible name of a panel without a heading. */
  readonly label?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A bordered part of a page. */
export function Panel({ title, label, actions, children }: PanelProps) {
  return (
    <section className={styles.panel} aria-label={title ?? label}>
      {title === undefined && actions === undefined ? null : (
        <div className={styles.bar}>
          {title === undefined ? null : <h2>{title}</h2>}
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** The bar with tools at the top of a panel. */
export function Bar({ children }: { readonly children: ReactNode }) {
  return <div className={styles.bar}>{children}</div>;
}

/** Names and values beside each other. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Names and values below each other. */
export function KeyValues({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.keyValues}>
      {facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
