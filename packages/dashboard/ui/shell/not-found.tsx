import { Link } from "@tanstack/react-router";
import { usePageTitle } from "../components/page.tsx";
import styles from "./shell.module.css";

export function NotFound() {
  usePageTitle("Not found");
  return (
    <div className={styles.outside}>
      <h1>Not found</h1>
      <p>
        There is no such page. <Link to="/">Go to the overview</Link>
      </p>
    </div>
  );
}
