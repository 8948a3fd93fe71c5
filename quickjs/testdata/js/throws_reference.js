(() => { missing.property; })();
