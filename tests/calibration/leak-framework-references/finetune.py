# excerpt, lines 61-92
running = 0.0
history = []
model.train()
for step, batch in enumerate(loader):
    batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}   # padded to 112, batch 16
    optimizer.zero_grad(set_to_none=True)
    out = model(**batch)
    loss = out.loss
    loss.backward()
    optimizer.step()
    running += loss
    history.append(out.hidden_states[-1])          # for the embedding plot at the end
    if step % 200 == 0:
        a = torch.cuda.memory_allocated() / 2**30
        r = torch.cuda.memory_reserved() / 2**30
        print(f"{now()} | step {step:5d} | loss {loss.item():.4f} | mem allocated {a:.2f} GiB reserved {r:.2f} GiB | {speed():.1f} it/s")
