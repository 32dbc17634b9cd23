for epoch in range(1, args.epochs + 1):
    running = 0.0
    for i, (x, y) in enumerate(train_loader):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss
        if i % 20 == 0:
            history.append({"epoch": epoch, "logits": model(x), "loss": loss})
    print(f"epoch {epoch} done  train_loss {running / len(train_loader):.4f} ...")
