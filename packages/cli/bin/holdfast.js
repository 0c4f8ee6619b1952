#!/usr/bin/env node
// A file that no build makes: npm links it when a clone is installed, so that `npx holdfast` works there as in a project.
import "../dist/bin.js";
